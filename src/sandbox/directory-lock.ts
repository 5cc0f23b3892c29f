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
  /** Random text of each start, which distinguishes the owner from another program on a reused port. */
  instance: z.string(),
});
type Owner = z.infer<typeof ownerSchema>;

export class DirectoryInUseError extends Error {
  constructor(directory: string, pid: number) {
    super(`A sandbox already runs in ${directory} (process ${pid})`);
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Allows one sandbox in a directory, because two would write to one journal. The lock file contains the
 * owner's address. If no process listens there, the owner was killed and its lock is taken over. An owner
 * that listens without responding is suspended or hangs: it keeps the lock, and its process id is in the
 * error.
 *
 * Removing the lock first could remove the lock of a quicker start. The successor is therefore the process
 * that creates the one file that is named after the lock of the killed owner; only the successor replaces the
 * lock. A successor that is killed in between is succeeded in the same way.
 *
 * No library replaces this: Node.js has no flock. proper-lockfile trusts the age of a file, so the next start
 * waits after a SIGKILL, and a suspended owner later continues in parallel with its successor.
 */
export class DirectoryLock {
  private readonly path: string;

  constructor(private readonly directory: string) {
    this.path = join(directory, LOCK_FILE);
  }

  /** Acquires the lock. The owner's control interface must already respond. @throws DirectoryInUseError */
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

  /** Returns whether the file has become the lock. @throws DirectoryInUseError */
  private async succeed(mine: string): Promise<boolean> {
    const { lock, successors, next } = await this.followSuccessors();
    if (!(await linkUnlessExists(mine, next))) return false;
    if (lock === null) return true;
    if ((await findContent(this.path)) !== lock) {
      // Another process replaced the lock meanwhile, and removed the files of its successors.
      await rm(next, { force: true });
      return false;
    }
    await rename(mine, this.path);
    for (const successor of [...successors, next]) await rm(successor, { force: true });
    return true;
  }

  /**
   * Returns the content of the lock, the files of its successors, all of them dead, and the file of the next
   * successor, which is the lock itself when there is no lock.
   *
   * @throws DirectoryInUseError
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

/** Whether a process listens at the owner's address that is the owner or does not respond. */
async function isHeld({ controlUrl, instance }: Owner): Promise<boolean> {
  try {
    const response = await fetch(controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body: unknown = await response.json();
    return JSON.stringify(body) === JSON.stringify({ instance });
  } catch (error) {
    return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
  }
}
