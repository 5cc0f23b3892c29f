import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** What processes take, from Linux's /proc. Elsewhere everything here is NaN. */

/** Of the times in /proc, on every machine that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KILOBYTES_PER_MEGABYTE = 1024;
/** Sets VmHWM back to what is resident now. */
const RESET_PEAK = '5';

interface Times {
  readonly parent: number;
  readonly own: number;
  /** Of children that have ended and were waited for. */
  readonly endedChildren: number;
}

async function readTimes(pid: number | string): Promise<Times | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // After the name in parentheses, which may hold anything: the third field, and so on.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = [1, 11, 12, 13, 14].map(
    (at) => fields[at],
  );
  return { parent, own: user + system, endedChildren: childrenUser + childrenSystem };
}

/** Since the process began. */
export async function cpuSeconds(pid: number): Promise<number> {
  return ((await readTimes(pid))?.own ?? Number.NaN) / TICKS_PER_SECOND;
}

/** Of a process with all its children, those that have ended as well. */
export async function familyCpuSeconds(pid: number): Promise<number> {
  const parent = await readTimes(pid);
  if (!parent) return Number.NaN;
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const others = await Promise.all(numbers.map(readTimes));
  const children = others.filter((times) => times?.parent === pid);
  const ticks = children.reduce((sum, times) => sum + (times?.own ?? 0), parent.own + parent.endedChildren);
  return ticks / TICKS_PER_SECOND;
}

/** The number of a server's first process, by the directory of its data. NaN when it is not to be seen from here. */
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

/** The most that was resident since it began, or since the last reset. */
export const peakMb = (pid: number): Promise<number> => readStatusMb(pid, 'VmHWM');

export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, RESET_PEAK).catch(() => undefined);
}

export interface MemorySample {
  readonly atSeconds: number;
  readonly megabytes: number;
}

/** Samples what is resident, until told to stop. */
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
