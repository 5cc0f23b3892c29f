/** Maps each reason of a check to whether the proxy works; `null` if the reason does not tell. */
const WORKS = {
  refused: false,
  'wrong-login': false,
  timeout: false,
  closed: false,
  'echo-unreachable': false,
  'wrong-response': false,
  'leaks-forwarded-for': false,
  'exit-differs': true,
  'echo-down': null,
  'network-down': null,
} as const satisfies Record<string, boolean | null>;

export type ProxyCheckReason = keyof typeof WORKS;
export const PROXY_CHECK_REASONS = Object.keys(WORKS) as readonly ProxyCheckReason[];

export const verdictOf = (reason: ProxyCheckReason | null): boolean | null =>
  reason === null || WORKS[reason];
