import type { FaultSpec } from './faults/fault';
import type { Latencies } from './wire/latency';

/** How the provider behaves when nobody orders anything else. */
export interface Profile {
  readonly latencies: Latencies;
  /** Calls in any second; null: no limit. */
  readonly ratePerSecond: number | null;
  /** What goes wrong all the time, each with its probability. */
  readonly faults: readonly FaultSpec[];
}

const RATE_PER_SECOND = 3;
/** Past the patience of most clients' users, within that of most clients. */
const VERY_LATE_MS = 20_000;

export const PROFILES = {
  /** Answers at once, without faults. */
  quick: { latencies: {}, ratePerSecond: RATE_PER_SECOND, faults: [] },

  /** As the provider was measured: slow purchases, and a fault in a hundred calls. */
  realistic: {
    latencies: {
      buy: { minMs: 5000, maxMs: 7000 },
      prolong: { minMs: 5000, maxMs: 7000 },
      any: { minMs: 100, maxMs: 400 },
    },
    ratePerSecond: RATE_PER_SECOND,
    faults: [
      usual({ kind: 'answer-lost', probability: 0.002, seed: 1 }),
      usual({ kind: 'http-status', status: 503, probability: 0.002, seed: 2 }),
      // Somebody else with the same key was quicker.
      usual({ kind: 'http-status', status: 429, probability: 0.002, seed: 3 }),
      usual({ kind: 'error', errorId: 30, probability: 0.001, seed: 4 }),
      usual({ kind: 'html', probability: 0.001, seed: 5 }),
      usual({ kind: 'reset', probability: 0.001, seed: 6 }),
      usual({ kind: 'late', afterMs: VERY_LATE_MS, probability: 0.001, seed: 7 }),
    ],
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES).filter(isProfileName);

export function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}

function usual(fault: Omit<FaultSpec, 'method' | 'times'>): FaultSpec {
  return { ...fault, method: 'any', times: null };
}
