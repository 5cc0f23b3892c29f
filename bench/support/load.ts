import autocannon from 'autocannon';
import { max, median, min } from 'simple-statistics';
import { cpuSeconds } from './cpu-time';

export type BenchRequest = autocannon.Request;

export interface Subject {
  readonly name: string;
  readonly baseUrl: string;
  readonly pid: number;
  readonly requests: readonly BenchRequest[];
}

/** CPU times are per request. */
export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
  readonly databaseCpuMs: number;
  readonly totalCpuMs: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly postmasterPid: number;
}

const WARMUP_SECONDS = 2;

/** Each round measures all subjects, forwards and backwards in turn, so that drift affects them equally. */
export async function measureInRounds(
  subjects: readonly Subject[],
  options: LoadOptions,
): Promise<Sample[][]> {
  for (const subject of subjects) {
    await measure(subject, { ...options, seconds: Math.min(options.seconds, WARMUP_SECONDS) });
  }
  const samples: Sample[][] = subjects.map(() => []);
  const places = [...subjects.entries()];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const [at, subject] of round % 2 === 0 ? places : places.toReversed()) {
      samples[at]?.push(await measure(subject, options));
    }
  }
  return samples;
}

export async function measure(
  { name, baseUrl, pid, requests }: Subject,
  { connections, seconds, postmasterPid }: Omit<LoadOptions, 'rounds'>,
): Promise<Sample> {
  const before = [await cpuSeconds(pid), await cpuSeconds(postmasterPid)] as const;
  let connection = 0;
  const result = await autocannon({
    url: baseUrl,
    connections,
    duration: seconds,
    timeout: 60,
    setupClient: (client) => {
      // Otherwise all connections would request the same user at the same moment.
      const from = Math.floor((connection * requests.length) / connections);
      connection += 1;
      client.setRequests([...requests.slice(from), ...requests.slice(0, from)]);
    },
  });
  const after = [await cpuSeconds(pid), await cpuSeconds(postmasterPid)] as const;
  if (result.errors > 0 || result.non2xx > 0) {
    throw new Error(`${name}: ${result.errors} connections broke, ${result.non2xx} responses were not 2xx`);
  }
  const count = result['2xx'];
  const [cpuMs, databaseCpuMs] = [after[0] - before[0], after[1] - before[1]].map(
    (cpu) => (1000 * cpu) / count,
  ) as [number, number];
  return {
    perSecond: count / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuMs,
    databaseCpuMs,
    totalCpuMs: cpuMs + databaseCpuMs,
  };
}

export const methodOf = ({ rounds, seconds, connections }: LoadOptions): string =>
  `${rounds} rounds of ${seconds} s, ${connections} connections. CPU is that of one request.`;

export const CELLS = ['a second', 'median', 'p99', 'CPU', 'CPU of PostgreSQL'];

export function cellsOf(samples: readonly Sample[]): string[] {
  const of = (value: keyof Sample, digits: number): string =>
    median(samples.map((sample) => sample[value])).toFixed(digits);
  return [
    of('perSecond', 0),
    `${of('p50Ms', 0)} ms`,
    `${of('p99Ms', 0)} ms`,
    `${of('cpuMs', 3)} ms`,
    `${of('databaseCpuMs', 3)} ms`,
  ];
}

export function ratio(
  samples: readonly Sample[],
  others: readonly Sample[],
  value: keyof Sample = 'perSecond',
): string {
  const ratios = samples.map((sample, round) => sample[value] / (others[round]?.[value] ?? Number.NaN));
  const [middle, least, most] = [median(ratios), min(ratios), max(ratios)].map((one) => one.toFixed(2));
  return `${middle} (${least} – ${most})`;
}
