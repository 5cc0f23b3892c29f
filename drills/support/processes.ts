import { readdirSync, readlinkSync } from 'node:fs';

/**
 * The ids of the processes that work in a directory or below it: those of a daemon that was started there,
 * and its descendants, also those with another parent by now.
 */
export function processesIn(directory: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const place = workingDirectoryOf(pid);
      return place === directory || place.startsWith(`${directory}/`);
    })
    .map(Number);
}

/** Does nothing when the process has ended meanwhile. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** Empty for a process that has ended, or that this user may not look at. */
function workingDirectoryOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
