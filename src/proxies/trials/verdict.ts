/** The verdict of each reason. Only `false` is a fault of the proxy; a reason in doubt is `null`. */
const WORKS = {
  refused: false,
  'wrong-login': false,
  timeout: false,
  closed: false,
  'judge-unreachable': false,
  'wrong-answer': false,
  'leaks-forwarded-for': false,
  'exit-differs': true,
  'judge-down': null,
  'network-down': null,
} as const satisfies Record<string, boolean | null>;

export type TrialReason = keyof typeof WORKS;
export const TRIAL_REASONS = Object.keys(WORKS) as readonly TrialReason[];

export const worksBy = (reason: TrialReason | null): boolean | null => reason === null || WORKS[reason];
