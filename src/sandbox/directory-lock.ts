import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { temporaryNameFor } from './private-file';
import { hasErrorCode } from './system-error';

const LOCK_FILE = 'lock.json';
const PROBE_TIMEOUT_MS = 2000;

const ownerSchema = z.object({
  pid: z.int(),
  controlUrl: z.string(),
  /** Random for each start: distinguishes the owner from another program on a reused port. */
  instance: z.string(),
});
type Owner = z.infer<typeof ownerSchema>;

/** Another sandbox uses the directory. */
export class DirectoryInUseError extends Error {
  constructor(
    readonly directory: string,
    readonly pid: number,
  ) {
    super(`A sandbox already runs in ${directory} (process ${pid})`);
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Allows one sandbox in a directory, because two would write one journal. The lock file has the owner's
 * address. If no process listens there, the owner was killed and its lock is taken over. An owner that
 * listens without a response is suspended or hangs: it keeps the lock, and its process id is in the error.
 *
 * No library replaces this: Node.js has no flock, and proper-lockfile trusts the age of a file, so the next
 * start waits after a SIGKILL, and a suspended owner later continues in parallel with its successor.
 */
export class DirectoryLock {
  private readonly path: string;

  constructor(private readonly directory: string) {
    this.path = join(directory, LOCK_FILE);
  }

  /** @throws DirectoryInUseError */
  private async assertFree(): Promise<void> {
    const content = await this.findContent();
    const owner = content === null ? null : readOwner(content);
    if (owner && (await isHeld(owner))) throw new DirectoryInUseError(this.directory, owner.pid);
  }

  /** The owner's control interface must already respond. @throws DirectoryInUseError */
  async acquire(owner: Owner): Promise<void> {
    const mine = temporaryNameFor(this.path);
    await writeFile(mine, JSON.stringify(owner), { mode: 0o600 });
    try {
      while (!(await this.linkAsLock(mine))) {
        const stale = await this.findContent();
        await this.assertFree();
        if (stale !== null) await this.removeStale(stale);
      }
    } finally {
      await rm(mine, { force: true });
    }
  }

  async release(owner: Owner): Promise<void> {
    if ((await this.findContent()) === JSON.stringify(owner)) await rm(this.path, { force: true });
  }

  private async linkAsLock(file: string): Promise<boolean> {
    try {
      await link(file, this.path);
      return true;
    } catch (error) {
      if (hasErrorCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  /** Two processes may find the same stale lock: one that moved the other's new lock away puts it back. */
  private async removeStale(expected: string): Promise<void> {
    const aside = temporaryNameFor(this.path);
    try {
      await rename(this.path, aside);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return;
      throw error;
    }
    const moved = await readFile(aside, 'utf8');
    if (moved !== expected) await this.linkAsLock(aside);
    await rm(aside, { force: true });
  }

  private async findContent(): Promise<string | null> {
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return null;
      throw error;
    }
  }
}

function readOwner(content: string): Owner | null {
  try {
    return ownerSchema.parse(JSON.parse(content));
  } catch {
    return null;
  }
}

/** Whether a process listens at the owner's address, and is the owner or does not respond. */
async function isHeld({ controlUrl, instance }: Owner): Promise<boolean> {
  try {
    const response = await fetch(controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body: unknown = await response.json();
    return JSON.stringify(body) === JSON.stringify({ instance });
  } catch (error) {
    return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
  }
}
