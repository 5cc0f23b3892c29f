import { percentile, ratioSpread, type Spread, spread } from '../support/statistics';
import type { Sample, Subject } from './subjects';

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

export interface SubjectResult {
  readonly name: string;
  readonly rounds: readonly Sample[];
  /** In the order of RATES; empty when it was not asked at a rate. */
  readonly atRates: readonly Latencies[];
}

export interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly subjects: readonly SubjectResult[];
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
}

export interface RoundOptions {
  readonly seconds: number;
  readonly rounds: number;
}

/**
 * Measures the subjects of a path side by side: each in every round, in an order that turns round, so that whatever drifts meets all
 * of them alike. A subject that has been asked wrongly ends the run; one that cannot be run, pgbench with statements that do not fit
 * together, is noted.
 */
export async function measureInRounds(
  { name, title }: { readonly name: string; readonly title: string },
  subjects: readonly Subject[],
  { seconds, rounds }: RoundOptions,
): Promise<WorkloadResult> {
  const samples = new Map<Subject, Sample[]>(subjects.map((subject) => [subject, []]));
  const notes: string[] = [];
  // What is compiled, planned or read for the first time is in no round.
  for (const subject of subjects) {
    await subject.measure(Math.min(seconds / 2, WARMUP_SECONDS)).catch(() => undefined);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of inTurn([...samples.keys()], round)) {
      try {
        samples.get(subject)?.push(await subject.measure(seconds));
      } catch (error) {
        if (!isOptional(subject)) throw error;
        samples.delete(subject);
        notes.push(`${subject.name} could not be run: ${firstLine(error)}`);
      }
    }
  }

  const latencies = new Map<Subject, number[][]>();
  for (let round = 0; round < Math.max(1, Math.floor(rounds * ROUNDS_AT_RATES)); round += 1) {
    for (const [at, { share }] of RATES.entries()) {
      for (const subject of inTurn([...samples.keys()], round + at)) {
        if (!subject.measureAtRate) continue;
        const rate = share * throughput(samples.get(subject) ?? []);
        const { latenciesMs } = await subject.measureAtRate(rate, seconds);
        const all = latencies.get(subject) ?? RATES.map(() => []);
        latencies.set(subject, all);
        // Not as parameters: there may be a million.
        for (const latency of latenciesMs) all[at]?.push(latency);
      }
    }
  }
  return {
    name,
    title,
    notes,
    subjects: [...samples].map(([subject, taken]) => ({
      name: subject.name,
      rounds: taken,
      atRates: (latencies.get(subject) ?? []).map((times, at) => ({
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
const isOptional = ({ name }: Subject): boolean => name.startsWith('pgbench');

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '';

/** Forwards, then backwards. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

const throughput = (samples: readonly Sample[]): number =>
  spread(samples.map(({ perSecond }) => perSecond)).median;

export function valuesOf(result: SubjectResult | undefined, value: keyof Sample): Spread {
  return spread((result?.rounds ?? []).map((sample) => sample[value]));
}

export const findSubject = (path: WorkloadResult | undefined, name: string): SubjectResult | undefined =>
  path?.subjects.find((subject) => subject.name === name);

/** How many times as many a second, round by round. Null when one of them was not measured. */
export function ratioOf(path: WorkloadResult | undefined, name: string, against: string): Spread | null {
  const [one, other] = [findSubject(path, name), findSubject(path, against)];
  if (!one || !other) return null;
  const rates = ({ rounds }: SubjectResult): number[] => rounds.map(({ perSecond }) => perSecond);
  return ratioSpread(rates(one), rates(other));
}
