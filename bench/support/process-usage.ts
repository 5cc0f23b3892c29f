import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** CPU time and memory of processes, from Linux's /proc. On other systems every value is NaN. */

/** Unit of the times in /proc on all platforms of Node.js. */
const TICKS_PER_SECOND = 100;
const KILOBYTES_PER_MEGABYTE = 1024;
/** Resets VmHWM to the current resident size. */
const RESET_PEAK = '5';

interface Times {
  readonly parent: number;
  readonly own: number;
  /** Of children that have exited and were waited for. */
  readonly endedChildren: number;
}

async function readTimes(pid: number | string): Promise<Times | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The name in parentheses may contain anything; the third field follows it.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = [1, 11, 12, 13, 14].map(
    (at) => fields[at],
  );
  return { parent, own: user + system, endedChildren: childrenUser + childrenSystem };
}

/** CPU seconds since the start of the process. */
export async function cpuSeconds(pid: number): Promise<number> {
  return ((await readTimes(pid))?.own ?? Number.NaN) / TICKS_PER_SECOND;
}

/** CPU seconds of a process and all its children, including those that have exited. */
export async function familyCpuSeconds(pid: number): Promise<number> {
  const parent = await readTimes(pid);
  if (!parent) return Number.NaN;
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const others = await Promise.all(numbers.map(readTimes));
  const children = others.filter((times) => times?.parent === pid);
  const ticks = children.reduce((sum, times) => sum + (times?.own ?? 0), parent.own + parent.endedChildren);
  return ticks / TICKS_PER_SECOND;
}

/** The pid of PostgreSQL's main process. NaN when its data directory is not readable here. */
export async function readPostmasterPid(dataDirectory: string): Promise<number> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number.parseInt(text, 10);
}

async function readStatusMb(pid: number, name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return (
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) /
    KILOBYTES_PER_MEGABYTE
  );
}

export const residentMb = (pid: number): Promise<number> => readStatusMb(pid, 'VmRSS');

/** Peak resident size since the start, or since the last reset. */
export const peakMb = (pid: number): Promise<number> => readStatusMb(pid, 'VmHWM');

export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, RESET_PEAK).catch(() => undefined);
}

export interface MemorySample {
  readonly atSeconds: number;
  readonly megabytes: number;
}

/** Samples the resident size until it is stopped. */
export function watchMemory(pid: number, intervalMs: number): { stop(): Promise<MemorySample[]> } {
  const samples: MemorySample[] = [];
  const stopping = new AbortController();
  const startedAtMs = performance.now();
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      samples.push({ atSeconds: (performance.now() - startedAtMs) / 1000, megabytes: await residentMb(pid) });
      await pause(intervalMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      return samples;
    },
  };
}
