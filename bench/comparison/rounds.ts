import { percentile, ratioSpread, type Spread, spread } from '../support/statistics';
import type { Contestant, Sample } from './contestants';

const WARMUP_SECONDS = 2;
/** Of the rounds at a fixed rate, of those in a closed loop: they take twice as long. */
const ROUNDS_AT_RATES = 0.5;
/** Of the throughput in a closed loop. */
export const RATES = [
  { share: 0.5, title: 'half of it' },
  { share: 0.9, title: 'nine tenths of it' },
] as const;

export interface Latencies {
  readonly perSecond: number;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

export interface ContestantResult {
  readonly name: string;
  readonly rounds: readonly Sample[];
  /** In the order of RATES; empty when it was not asked at a rate. */
  readonly atRates: readonly Latencies[];
}

export interface PathResult {
  readonly name: string;
  readonly title: string;
  readonly contestants: readonly ContestantResult[];
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
}

export interface Effort {
  readonly seconds: number;
  readonly rounds: number;
}

/**
 * Measures the contestants of a path side by side: each in every round, in an order that turns round, so that whatever drifts meets all
 * of them alike. A contestant that has been asked wrongly ends the run; one that cannot be run, pgbench with statements that do not fit
 * together, is noted.
 */
export async function measureInRounds(
  { name, title }: { readonly name: string; readonly title: string },
  contestants: readonly Contestant[],
  { seconds, rounds }: Effort,
): Promise<PathResult> {
  const samples = new Map<Contestant, Sample[]>(contestants.map((contestant) => [contestant, []]));
  const notes: string[] = [];
  // What is compiled, planned or read for the first time is in no round.
  for (const contestant of contestants) {
    await contestant.measure(Math.min(seconds / 2, WARMUP_SECONDS)).catch(() => undefined);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of inTurn([...samples.keys()], round)) {
      try {
        samples.get(contestant)?.push(await contestant.measure(seconds));
      } catch (error) {
        if (!isOptional(contestant)) throw error;
        samples.delete(contestant);
        notes.push(`${contestant.name} could not be run: ${firstLine(error)}`);
      }
    }
  }

  const latencies = new Map<Contestant, number[][]>();
  for (let round = 0; round < Math.max(1, Math.floor(rounds * ROUNDS_AT_RATES)); round += 1) {
    for (const [at, { share }] of RATES.entries()) {
      for (const contestant of inTurn([...samples.keys()], round + at)) {
        if (!contestant.measureAtRate) continue;
        const rate = share * throughput(samples.get(contestant) ?? []);
        const { latenciesMs } = await contestant.measureAtRate(rate, seconds);
        const all = latencies.get(contestant) ?? RATES.map(() => []);
        latencies.set(contestant, all);
        // Not as parameters: there may be a million.
        for (const latency of latenciesMs) all[at]?.push(latency);
      }
    }
  }
  return {
    name,
    title,
    notes,
    contestants: [...samples].map(([contestant, taken]) => ({
      name: contestant.name,
      rounds: taken,
      atRates: (latencies.get(contestant) ?? []).map((times, at) => ({
        perSecond: (RATES[at]?.share ?? 0) * throughput(taken),
        requests: times.length,
        p50Ms: percentile(times, 50),
        p99Ms: percentile(times, 99),
        p999Ms: percentile(times, 99.9),
      })),
    })),
  };
}

/** A server that fails ends the run; pgbench may have been given statements that do not fit together. */
const isOptional = ({ name }: Contestant): boolean => name.startsWith('pgbench');

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '';

/** Forwards, then backwards. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

const throughput = (samples: readonly Sample[]): number =>
  spread(samples.map(({ perSecond }) => perSecond)).median;

export function valuesOf(result: ContestantResult | undefined, value: keyof Sample): Spread {
  return spread((result?.rounds ?? []).map((sample) => sample[value]));
}

export const findContestant = (path: PathResult | undefined, name: string): ContestantResult | undefined =>
  path?.contestants.find((contestant) => contestant.name === name);

/** How many times as many a second, round by round. Null when one of them was not measured. */
export function ratioOf(path: PathResult | undefined, name: string, against: string): Spread | null {
  const [one, other] = [findContestant(path, name), findContestant(path, against)];
  if (!one || !other) return null;
  const rates = ({ rounds }: ContestantResult): number[] => rounds.map(({ perSecond }) => perSecond);
  return ratioSpread(rates(one), rates(other));
}
