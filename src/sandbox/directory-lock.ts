import { createHash } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hasErrorCode, temporaryNameFor } from './system';

const LOCK_FILE = 'lock.json';
const PROBE_TIMEOUT_MS = 2000;

const ownerSchema = z.object({
  pid: z.int(),
  controlUrl: z.string(),
  /** Random string, new at each start. It distinguishes the owner from another program on a reused port. */
  instance: z.string(),
});
type Owner = z.infer<typeof ownerSchema>;

export class DirectoryInUseError extends Error {
  constructor(directory: string, pid: number) {
    super(`A sandbox is already running in ${directory} (process ${pid})`);
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Lets only one sandbox write to a directory. The lock file contains the owner's address. If nothing listens
 * there, the owner was killed and the next process takes the lock over. An owner that listens without
 * responding keeps the lock; the error shows its process id.
 * Deleting a dead owner's lock could delete the lock of a faster process. Each lock therefore has one
 * successor file, named after it: only the process that creates this file replaces the lock. A killed
 * successor is replaced in the same way.
 * Node.js has no flock. proper-lockfile relies on a file's age, so a suspended owner could later continue in
 * parallel.
 */
export class DirectoryLock {
  private readonly path: string;

  constructor(private readonly directory: string) {
    this.path = join(directory, LOCK_FILE);
  }

  /** Acquires the lock. Call it once the owner's control interface responds. @throws DirectoryInUseError */
  async acquire(owner: Owner): Promise<void> {
    const mine = temporaryNameFor(this.path);
    await writeFile(mine, JSON.stringify(owner), { mode: 0o600 });
    try {
      while (!(await this.succeed(mine)));
    } finally {
      await rm(mine, { force: true });
    }
  }

  async release(owner: Owner): Promise<void> {
    if ((await findContent(this.path)) === JSON.stringify(owner)) await rm(this.path, { force: true });
  }

  /** Returns whether `mine` has become the lock. @throws DirectoryInUseError */
  private async succeed(mine: string): Promise<boolean> {
    const { lock, successors, next } = await this.followSuccessors();
    if (!(await linkUnlessExists(mine, next))) return false;
    if (lock === null) return true;
    if ((await findContent(this.path)) !== lock) {
      // Another process has already replaced the lock and removed its successor files, so remove ours too.
      await rm(next, { force: true });
      return false;
    }
    await rename(mine, this.path);
    for (const successor of [...successors, next]) await rm(successor, { force: true });
    return true;
  }

  /**
   * Returns the lock's content, the files of its dead successors, and the file that the next successor
   * creates. Without a lock, that file is the lock itself. @throws DirectoryInUseError
   */
  private async followSuccessors(): Promise<{ lock: string | null; successors: string[]; next: string }> {
    const lock = await findContent(this.path);
    const successors: string[] = [];
    let next = this.path;
    for (let content = lock; content !== null; content = await findContent(next)) {
      const owner = readOwner(content);
      if (owner && (await isHeld(owner))) throw new DirectoryInUseError(this.directory, owner.pid);
      if (next !== this.path) successors.push(next);
      next = `${this.path}.after-${createHash('sha256').update(content).digest('hex')}`;
    }
    return { lock, successors, next };
  }
}

async function linkUnlessExists(file: string, path: string): Promise<boolean> {
  try {
    await link(file, path);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function findContent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function readOwner(content: string): Owner | null {
  try {
    return ownerSchema.parse(JSON.parse(content));
  } catch {
    return null;
  }
}

/** Whether the owner responds at its address, or something listens there without responding in time. */
async function isHeld({ controlUrl, instance }: Owner): Promise<boolean> {
  try {
    const response = await fetch(controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body: unknown = await response.json();
    return JSON.stringify(body) === JSON.stringify({ instance });
  } catch (error) {
    return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
  }
}
