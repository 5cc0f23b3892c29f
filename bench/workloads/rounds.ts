import { percentile, ratioSpread, type Spread, spread } from '../support/statistics';
import type { Sample, Subject } from './subjects';

const WARMUP_SECONDS = 2;
/** Number of rounds at fixed rates relative to those in a closed loop: there are two rates. */
const RATE_ROUNDS_RATIO = 0.5;
/** Fixed rates as shares of the throughput in a closed loop. */
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
  /** In the order of RATES; empty when the subject was not measured at fixed rates. */
  readonly atRates: readonly Latencies[];
}

export interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly subjects: readonly SubjectResult[];
  /** Which subjects could not be measured, and why. */
  readonly notes: readonly string[];
}

export interface RoundOptions {
  readonly seconds: number;
  readonly rounds: number;
}

/**
 * Measures the subjects of a workload side by side: each in every round, in alternating order, so that drift
 * of the machine affects all of them equally. A failing server aborts the run; a failing pgbench is noted
 * and left out.
 */
export async function measureInRounds(
  { name, title }: { readonly name: string; readonly title: string },
  subjects: readonly Subject[],
  { seconds, rounds }: RoundOptions,
): Promise<WorkloadResult> {
  const samples = new Map<Subject, Sample[]>(subjects.map((subject) => [subject, []]));
  const notes: string[] = [];
  // Warm-up: compilation, planning and cold caches are not measured.
  for (const subject of subjects) {
    await subject.measure(Math.min(seconds / 2, WARMUP_SECONDS)).catch(() => undefined);
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of alternatingOrder([...samples.keys()], round)) {
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
  for (let round = 0; round < Math.max(1, Math.floor(rounds * RATE_ROUNDS_RATIO)); round += 1) {
    for (const [at, { share }] of RATES.entries()) {
      for (const subject of alternatingOrder([...samples.keys()], round + at)) {
        if (!subject.measureAtRate) continue;
        const rate = share * throughput(samples.get(subject) ?? []);
        const { latenciesMs } = await subject.measureAtRate(rate, seconds);
        const all = latencies.get(subject) ?? RATES.map(() => []);
        latencies.set(subject, all);
        // Not push(...latencies): there may be a million, too many for arguments.
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

/** A failing server aborts the run; recorded statements may not work in pgbench, which is only noted. */
const isOptional = ({ name }: Subject): boolean => name.startsWith('pgbench');

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '';

/** Forwards in even rounds, backwards in odd ones. */
export function alternatingOrder<Item>(items: readonly Item[], round: number): Item[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

const throughput = (samples: readonly Sample[]): number =>
  spread(samples.map(({ perSecond }) => perSecond)).median;

export function valuesOf(result: SubjectResult | undefined, value: keyof Sample): Spread {
  return spread((result?.rounds ?? []).map((sample) => sample[value]));
}

export const findSubject = (workload: WorkloadResult | undefined, name: string): SubjectResult | undefined =>
  workload?.subjects.find((subject) => subject.name === name);

/** Ratio of throughputs, round by round. Null when one of the subjects was not measured. */
export function ratioOf(
  workload: WorkloadResult | undefined,
  name: string,
  against: string,
  inWorkload = workload,
): Spread | null {
  const [one, other] = [findSubject(workload, name), findSubject(inWorkload, against)];
  if (!one || !other) return null;
  const rates = ({ rounds }: SubjectResult): number[] => rounds.map(({ perSecond }) => perSecond);
  return ratioSpread(rates(one), rates(other));
}
