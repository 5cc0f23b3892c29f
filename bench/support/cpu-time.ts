import { readdir, readFile } from 'node:fs/promises';

/** Unit of the times in /proc on all platforms of Node.js. */
const TICKS_PER_SECOND = 100;

interface Times {
  readonly parent: number;
  readonly own: number;
  readonly endedChildren: number;
}

/** Returns null if the process has ended, or without /proc. */
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

/** Includes children that have exited. Returns NaN without /proc. */
export async function cpuSeconds(pid: number): Promise<number> {
  const parent = await readTimes(pid);
  if (!parent) return Number.NaN;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const children = (await Promise.all(pids.map(readTimes))).filter((times) => times?.parent === pid);
  const ticks = children.reduce((sum, times) => sum + (times?.own ?? 0), parent.own + parent.endedChildren);
  return ticks / TICKS_PER_SECOND;
}
