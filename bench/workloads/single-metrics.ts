import { open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fixture } from '../support/fixture';
import type { Customer } from '../support/order-client';
import { peakMb, resetPeak, residentMb, watchMemory } from '../support/process-usage';
import { startService } from '../support/processes';
import { slope, spread, type Spread } from '../support/statistics';
import { placeOrder, purchase, sendRequest } from './requests';
import type { Server, Subject } from './subjects';

/** Time after a start for the service's one-off work to finish. */
const SETTLE_MS = 2000;
const MEMORY_INTERVAL_MS = 1000;
const BATCH_SIZE = 1000;

/** Milliseconds from the start of the built service to its first response; the database is migrated. */
export async function measureStart(
  nodeOptions: readonly string[],
  environment: Readonly<Record<string, string>>,
  rounds: number,
): Promise<Spread> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    const service = await startService(environment, nodeOptions);
    try {
      await sendRequest(service.baseUrl, { path: '/health', token: null });
      times.push(performance.now() - startedAtMs);
    } finally {
      await service.stop();
    }
  }
  return spread(times);
}

/** Peak memory of a freshly started service during exports, above its idle memory, in MB. */
export async function measureExportGrowth(server: Server, exports: readonly Subject[]): Promise<number> {
  await pause(SETTLE_MS);
  const idleMb = await residentMb(server.pid);
  await resetPeak(server.pid);
  // A duration of 0 means one download each.
  for (const subject of exports) await subject.measure(0);
  return (await peakMb(server.pid)) - idleMb;
}

export interface MemoryMetrics {
  readonly peakMb: number;
  /** Least-squares slope over the second half of the time: what is allocated once at the start is no leak. */
  readonly growthMbPerMinute: number;
  readonly minutes: number;
  readonly requests: number;
}

/** Resident memory of the service under the daily mix in a closed loop. */
export async function measureMemory(server: Server, day: Subject, minutes: number): Promise<MemoryMetrics> {
  const watch = watchMemory(server.pid, MEMORY_INTERVAL_MS);
  const { perSecond } = await day.measure(minutes * 60);
  const samples = await watch.stop();
  const half = samples.slice(Math.floor(samples.length / 2));
  return {
    peakMb: Math.max(...samples.map(({ megabytes }) => megabytes)),
    growthMbPerMinute: 60 * slope(half.map(({ atSeconds, megabytes }) => [atSeconds, megabytes])),
    minutes,
    requests: Math.round(perSecond * minutes * 60),
  };
}

/**
 * Milliseconds that PostgreSQL reports for each execution of the statement that stores the proxies of a
 * purchase of a thousand, including its parsing and planning.
 */
export async function measureStoring(
  fixture: Fixture,
  { baseUrl }: Server,
  { token }: Customer,
  purchases: number,
): Promise<number[]> {
  const log = await DurationLog.open(fixture);
  try {
    for (let n = 0; n < purchases; n += 1) await placeOrder(baseUrl, purchase(token, BATCH_SIZE));
  } finally {
    await log.close();
  }
  return log.read();
}

/** Durations of statements, from PostgreSQL's log. */
class DurationLog {
  private constructor(
    private readonly fixture: Fixture,
    private readonly file: string,
    private readonly from: number,
  ) {}

  static async open(fixture: Fixture): Promise<DurationLog> {
    const file = join(dirname(await fixture.dataDirectory()), 'server.log');
    const { size } = await stat(file);
    await fixture.query(`ALTER SYSTEM SET log_line_prefix = '${LINE_PREFIX}'`);
    await fixture.query('ALTER SYSTEM SET log_parameter_max_length = 0');
    await fixture.query('ALTER SYSTEM SET log_min_duration_statement = 0');
    await fixture.query('SELECT pg_reload_conf()');
    await pause(SETTLE_MS / 4);
    return new DurationLog(fixture, file, size);
  }

  async close(): Promise<void> {
    await this.fixture.query('ALTER SYSTEM RESET log_min_duration_statement');
    await this.fixture.query('ALTER SYSTEM RESET log_parameter_max_length');
    await this.fixture.query('ALTER SYSTEM RESET log_line_prefix');
    await this.fixture.query('SELECT pg_reload_conf()');
  }

  async read(): Promise<number[]> {
    const handle = await open(this.file);
    try {
      const { size } = await handle.stat();
      const text = Buffer.alloc(size - this.from);
      await handle.read(text, 0, text.length, this.from);
      return readStoringTimes(text.toString());
    } finally {
      await handle.close();
    }
  }
}

const LINE_PREFIX = '%p ';
const DURATION = /^(\d+) LOG: {2}duration: ([\d.]+) ms {2}(parse|bind|execute|statement)\b/;

/** @param log lines that begin with the session's process id; continuation lines begin with a tab */
export function readStoringTimes(log: string): number[] {
  const times: number[] = [];
  const begunMs = new Map<string, number>();
  for (const entry of log.split(/\n(?!\t)/)) {
    const [, session = '', duration = '', step] = DURATION.exec(entry) ?? [];
    if (step === undefined || !/INSERT INTO proxies\b/i.test(entry)) continue;
    const ms = (begunMs.get(session) ?? 0) + Number(duration);
    begunMs.delete(session);
    if (step === 'parse' || step === 'bind') begunMs.set(session, ms);
    else times.push(ms);
  }
  return times;
}
