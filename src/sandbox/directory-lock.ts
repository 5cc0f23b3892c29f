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
  /**
   * Chosen at random at each start. A different value means that another program has taken the port since.
   */
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
 * Lets only one sandbox write to a directory. The lock file contains the owner's address. Another process may
 * replace the file once the owner no longer listens at that address. To do so, it must first create the
 * lock's successor file, which only one process can do. Otherwise, a slow process could delete the lock of a
 * faster one. Libraries that rely on the file's age would let a suspended owner resume alongside a new one.
 */
export class DirectoryLock {
  private readonly path: string;

  constructor(private readonly directory: string) {
    this.path = join(directory, LOCK_FILE);
  }

  /** The owner's control interface must already respond. @throws DirectoryInUseError */
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

  private async succeed(mine: string): Promise<boolean> {
    const { lock, successors, next } = await this.followSuccessors();
    if (!(await linkUnlessExists(mine, next))) return false;
    if (lock === null) return true;
    if ((await findContent(this.path)) !== lock) {
      // Another process has already replaced the lock and removed its successor files, so remove ours.
      await rm(next, { force: true });
      return false;
    }
    await rename(mine, this.path);
    for (const successor of [...successors, next]) await rm(successor, { force: true });
    return true;
  }

  /** Returns the lock, the files of dead successors, and the file that the next successor must create. */
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

/** Also returns true if something accepts connections at the address but does not respond in time. */
async function isHeld({ controlUrl, instance }: Owner): Promise<boolean> {
  try {
    const response = await fetch(controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body: unknown = await response.json();
    return JSON.stringify(body) === JSON.stringify({ instance });
  } catch (error) {
    return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
  }
}
