import { readdirSync, readlinkSync } from 'node:fs';

/** Finds a daemon and its descendants by their directory, even those whose parent has changed. */
export function processesIn(directory: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const place = workingDirectoryOf(pid);
      return place === directory || place.startsWith(`${directory}/`);
    })
    .map(Number);
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Empty if the process has ended, or belongs to another user. */
function workingDirectoryOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
