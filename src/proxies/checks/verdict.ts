/** Whether the proxy works, for each reason that a check can report; `null` if that remains unknown. */
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
