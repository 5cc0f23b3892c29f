import type { FaultSpec } from './wire/faults/fault';
import type { Latencies } from './wire/latency';

/** The provider's behaviour unless the control interface changes it. */
export interface Profile {
  readonly latencies: Latencies;
  /** Calls per second; null: no limit. */
  readonly ratePerSecond: number | null;
  /** Permanent faults with their probabilities. */
  readonly faults: readonly FaultSpec[];
}

const RATE_PER_SECOND = 3;
/** Longer than users wait, shorter than most clients' timeouts. */
const VERY_LATE_MS = 20_000;

export const PROFILES = {
  /** Responds at once, without faults. */
  quick: { latencies: {}, ratePerSecond: RATE_PER_SECOND, faults: [] },

  /** Like the measured provider: slow purchases, and faults in 1 % of the calls. */
  realistic: {
    latencies: {
      buy: { minMs: 5000, maxMs: 7000 },
      prolong: { minMs: 5000, maxMs: 7000 },
      any: { minMs: 100, maxMs: 400 },
    },
    ratePerSecond: RATE_PER_SECOND,
    faults: [
      permanent({ kind: 'answer-lost', probability: 0.002, seed: 1 }),
      permanent({ kind: 'http-status', status: 503, probability: 0.002, seed: 2 }),
      // Another client with the same key used up the rate limit.
      permanent({ kind: 'http-status', status: 429, probability: 0.002, seed: 3 }),
      permanent({ kind: 'error', errorId: 30, probability: 0.001, seed: 4 }),
      permanent({ kind: 'html', probability: 0.001, seed: 5 }),
      permanent({ kind: 'reset', probability: 0.001, seed: 6 }),
      permanent({ kind: 'late', afterMs: VERY_LATE_MS, probability: 0.001, seed: 7 }),
    ],
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES).filter(isProfileName);

export function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}

function permanent(fault: Omit<FaultSpec, 'method' | 'times'>): FaultSpec {
  return { ...fault, method: 'any', times: null };
}
