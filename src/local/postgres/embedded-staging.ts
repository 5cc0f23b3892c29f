import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, isErrorWithCode } from '../system';

/** Creates a directory to fill before `publish`. Removes directories that killed processes left behind. */
export async function createStagingDirectory(parent: string, name: string): Promise<string> {
  const prefix = `.${name}.`;
  for (const entry of await readdir(parent)) {
    const pid = entry.startsWith(prefix) ? Number.parseInt(entry.slice(prefix.length), 10) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) {
      await rm(join(parent, entry), { recursive: true, force: true }).catch(() => undefined);
    }
  }
  const directory = join(parent, `${prefix}${process.pid}.${randomBytes(4).toString('hex')}`);
  await mkdir(directory, { mode: 0o700 });
  return directory;
}

/** Moves the directory to its final place, or removes it if another process got there first. */
export async function publish(directory: string, place: string): Promise<void> {
  await unlessTaken(rename(directory, place), directory);
}

export async function unlessTaken(publication: Promise<void>, directory: string): Promise<void> {
  try {
    await publication;
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].some((code) => isErrorWithCode(error, code))) throw error;
    await rm(directory, { recursive: true, force: true });
  }
}
