import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Generator } from '../generator/generator';
import type { LoadJob, LoadResult } from '../generator/load-job';
import { runPostgresProgram } from '../support/postgres-tools';
import { cpuSeconds, familyCpuSeconds, peakMb, resetPeak } from '../support/process-usage';
import { mean, percentile } from '../support/statistics';

/** Length of the warm-up relative to the measured time. */
const WARMUP_SHARE = 0.2;
const PGBENCH_THREADS = 2;
/**
 * A new connection of pgbench reads PostgreSQL's catalogue, compiles the functions and plans each statement
 * six times: the first second of 32 of them is mostly that.
 */
const PGBENCH_WARMUP_SECONDS = 3;

/** Names of the subjects, as the reports print them. */
export const SERVICE = 'service';
export const BARE_NODE = 'bare node';
export const HEALTH = 'service, /health';
export const SAME_STATEMENTS = 'pgbench, same statements';
export const ORDINARY_TRANSACTIONS = 'pgbench, ordinary schema';
export const COPY = 'psql COPY';

/** Measurements of one round in a closed loop. NaN: not available for this subject. */
export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteMs: number;
  /** CPU time of the server, of all its replicas together, for 1,000 requests. */
  readonly cpuSecondsPer1000: number;
  /** CPU time of PostgreSQL for 1,000 requests. */
  readonly databaseSecondsPer1000: number;
  readonly peakMb: number;
}

/** A program under measurement: the service, or a baseline. */
export interface Subject {
  readonly name: string;
  /** Measures throughput in a closed loop. */
  measure(seconds: number): Promise<Sample>;
  /** Measures latency at a fixed rate; absent where that is meaningless. */
  readonly measureAtRate?: (perSecond: number, seconds: number) => Promise<LoadResult>;
}

export interface Server {
  readonly baseUrl: string;
  readonly pid: number;
}

/** What measuring needs besides the subject. */
export interface Instruments {
  readonly generator: Generator;
  /** NaN when PostgreSQL runs elsewhere. */
  readonly postmasterPid: number;
  readonly connections: number;
}

export class FailedRequestsError extends Error {}

export interface BenchRequest {
  readonly path: string;
  readonly token: string | null;
  /** Sent as JSON; makes the request a POST. */
  readonly body?: object;
}

function formatHttpRequest({ path, token, body }: BenchRequest): string {
  const json = body === undefined ? null : JSON.stringify(body);
  return [
    `${json === null ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    ...(json === null
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(json)}`]),
    '',
    json ?? '',
  ].join('\r\n');
}

/** @throws FailedRequestsError when a response was not 2xx */
export function assertAllSucceeded(name: string, result: LoadResult): LoadResult {
  const failures = Object.entries(result.failures).map(([status, count]) => `${count} × ${status}`);
  if (failures.length > 0) throw new FailedRequestsError(`${name} got responses ${failures.join(', ')}`);
  return result;
}

/**
 * Measures a server over HTTP, or several replicas of it, which share the connections.
 *
 * @param connections default: those of the instruments
 */
export function httpSubject(
  name: string,
  server: Server | readonly Server[],
  requests: readonly BenchRequest[],
  { generator, postmasterPid, connections: usual }: Instruments,
  { connections = usual, atRates = connections > 1 }: { connections?: number; atRates?: boolean } = {},
): Subject {
  const servers = [server].flat();
  const texts = requests.map(formatHttpRequest);
  const job = (perSecond: number | null, seconds: number): LoadJob => ({
    ports: servers.map(({ baseUrl }) => Number(new URL(baseUrl).port)),
    requests: texts,
    connections,
    perSecond,
    warmupSeconds: seconds * WARMUP_SHARE,
    seconds,
  });
  const run = async (perSecond: number | null, seconds: number): Promise<LoadResult> =>
    assertAllSucceeded(name, await generator.run(job(perSecond, seconds)));
  return {
    name,
    measure: async (seconds) => {
      for (const { pid } of servers) await resetPeak(pid);
      const before = [await cpuOf(servers), await familyCpuSeconds(postmasterPid)] as const;
      const result = await run(null, seconds);
      const after = [await cpuOf(servers), await familyCpuSeconds(postmasterPid)] as const;
      const latencies = [...result.latenciesMs];
      return {
        // With one connection few requests fit: the tail of the last one must not count as idle time.
        perSecond: connections === 1 ? 1000 / mean(latencies) : result.answered / result.seconds,
        p50Ms: percentile(latencies, 50),
        p99Ms: percentile(latencies, 99),
        firstByteMs: percentile([...result.firstBytesMs], 50),
        cpuSecondsPer1000: ((after[0] - before[0]) * 1000) / result.sent,
        databaseSecondsPer1000: ((after[1] - before[1]) * 1000) / result.sent,
        peakMb: Math.max(...(await Promise.all(servers.map(({ pid }) => peakMb(pid))))),
      };
    },
    ...(atRates && { measureAtRate: run }),
  };
}

async function cpuOf(servers: readonly Server[]): Promise<number> {
  const seconds = await Promise.all(servers.map(({ pid }) => cpuSeconds(pid)));
  return seconds.reduce((sum, one) => sum + one, 0);
}

/**
 * Measures the database alone: pgbench with one client for each connection, each repeating a script.
 *
 * @param variables numeric variables of the script
 */
export function pgbenchSubject(
  name: string,
  { program, databaseUrl, script }: { program: string; databaseUrl: string; script: string },
  variables: Readonly<Record<string, number>>,
  { postmasterPid, connections }: Instruments,
): Subject {
  return {
    name,
    measure: async (seconds) => {
      const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-pgbench-'));
      try {
        const file = join(directory, 'script.sql');
        await writeFile(file, script, { mode: 0o600 });
        const measured = Math.max(1, Math.round(seconds));
        const [{ stdout, stderr }, before] = await Promise.all([
          runPostgresProgram(
            program,
            [
              '-n',
              '-Mprepared',
              '-P1',
              `-c${connections}`,
              `-j${PGBENCH_THREADS}`,
              `-T${PGBENCH_WARMUP_SECONDS + measured}`,
              `-f${file}`,
              ...Object.entries(variables).map(([variable, value]) => `-D${variable}=${value}`),
            ],
            databaseUrl,
          ),
          pause(PGBENCH_WARMUP_SECONDS * 1000).then(() => familyCpuSeconds(postmasterPid)),
        ]);
        const cpu = (await familyCpuSeconds(postmasterPid)) - before;
        return readPgbench({ stdout, stderr, cpu }, PGBENCH_WARMUP_SECONDS);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}

/**
 * Reads what pgbench did after its warm-up.
 *
 * @param run its output, whose error output reports every second, and the database's CPU seconds after the
 *   warm-up
 */
export function readPgbench(
  { stdout, stderr, cpu }: { readonly stdout: string; readonly stderr: string; readonly cpu: number },
  warmupSeconds: number,
): Sample {
  const failed = Number(/^number of failed transactions: (\d+)/m.exec(stdout)?.[1] ?? 0);
  const rates = [...stderr.matchAll(/^progress: ([\d.]+) s, ([\d.]+) tps/gm)]
    .filter(([, second]) => Math.round(Number(second)) > warmupSeconds)
    .map(([, , tps]) => Number(tps));
  const perSecond = rates.length === 0 ? 0 : mean(rates);
  if (failed > 0 || !(perSecond > 0)) throw new Error(`pgbench failed:\n${stdout}${stderr}`);
  return {
    perSecond,
    // pgbench prints only the mean.
    p50Ms: Number.NaN,
    p99Ms: Number.NaN,
    firstByteMs: Number.NaN,
    cpuSecondsPer1000: Number.NaN,
    databaseSecondsPer1000: (cpu * 1000) / (perSecond * rates.length),
    peakMb: Number.NaN,
  };
}

/** Measures sequential COPY commands of psql. */
export function copySubject(
  { program, databaseUrl, rows }: { program: string; databaseUrl: string; rows: string },
  { postmasterPid }: Instruments,
): Subject {
  return {
    name: COPY,
    measure: async (seconds) => {
      const times: number[] = [];
      const firstBytes: number[] = [];
      const before = await familyCpuSeconds(postmasterPid);
      const untilMs = performance.now() + seconds * 1000;
      do {
        const run = await runPostgresProgram(
          program,
          ['-X', '-q', '-c', `COPY (${rows}) TO STDOUT`],
          databaseUrl,
          0,
        );
        times.push(run.seconds);
        firstBytes.push(run.firstByteMs);
      } while (performance.now() < untilMs);
      const after = await familyCpuSeconds(postmasterPid);
      return {
        perSecond: times.length / times.reduce((sum, time) => sum + time, 0),
        p50Ms: percentile(times, 50) * 1000,
        p99Ms: percentile(times, 99) * 1000,
        firstByteMs: percentile(firstBytes, 50),
        cpuSecondsPer1000: Number.NaN,
        databaseSecondsPer1000: ((after - before) * 1000) / times.length,
        peakMb: Number.NaN,
      };
    },
  };
}
