import { execFile } from 'node:child_process';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporaryNameFor } from './private-file';
import { hasErrorCode } from './system-error';

const LOCK_FILE = 'lock.json';
const PROBE_TIMEOUT_MS = 2000;
/** An owner that is silent for so long hangs. */
const HUNG_AFTER_PROBES = 5;
const END_POLL_MS = 20;
const END_TIMEOUT_MS = 5000;

interface Owner {
  pid: number;
  controlUrl: string;
  /** Random for each start: tells the owner from another program on a reused port or process id. */
  instance: string;
}

/** Another sandbox uses the directory. */
export class DirectoryInUseError extends Error {
  constructor(
    readonly directory: string,
    readonly pid: number,
    message = `A sandbox already runs in ${directory} (process ${pid})`,
  ) {
    super(message);
    this.name = 'DirectoryInUseError';
  }
}

/**
 * Allows one sandbox in a directory. The lock file names the owner's control interface. If nobody listens
 * there, the owner was killed and its lock is taken over. If the owner listens and is silent, it hangs and is
 * killed first.
 *
 * No library replaces this: Node.js has no flock, and proper-lockfile trusts the age of a file, so after
 * kill -9 the next start waits, and an owner that was suspended goes on beside its successor.
 */
export class DirectoryLock {
  private readonly path: string;

  constructor(private readonly directory: string) {
    this.path = join(directory, LOCK_FILE);
  }

  /** Fails early; only {@link acquire} is decisive. @throws DirectoryInUseError */
  async assertFree(): Promise<void> {
    const content = await this.findContent();
    const owner = content === null ? null : readOwner(content);
    if (!owner) return;
    const state = await stateOf(owner);
    if (state === 'runs') throw new DirectoryInUseError(this.directory, owner.pid);
    if (state === 'hangs') await this.end(owner);
  }

  private async end({ pid }: Owner): Promise<void> {
    const complaint = `The sandbox in ${this.directory} does not answer`;
    if (!(await isSandbox(pid))) {
      throw new DirectoryInUseError(this.directory, pid, `${complaint}: end process ${pid} with SIGKILL`);
    }
    process.stderr.write(`${complaint}: ending process ${pid}\n`);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Another start has just ended it.
    }
    const deadlineMs = performance.now() + END_TIMEOUT_MS;
    while (isProcess(pid) && performance.now() < deadlineMs) await sleep(END_POLL_MS);
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
    const owner: Partial<Owner> = JSON.parse(content);
    const { pid, controlUrl, instance } = owner;
    return pid && controlUrl && instance ? { pid, controlUrl, instance } : null;
  } catch {
    return null;
  }
}

async function stateOf(owner: Owner): Promise<'runs' | 'hangs' | 'gone'> {
  for (let probe = 0; probe < HUNG_AFTER_PROBES; probe += 1) {
    const isOwner = await answersAs(owner);
    if (isOwner !== null) return isOwner ? 'runs' : 'gone';
  }
  return isProcess(owner.pid) ? 'hangs' : 'gone';
}

/** Whether the owner answers at its address; null when somebody listens there and is silent. */
async function answersAs(owner: Owner): Promise<boolean | null> {
  try {
    const answer = await fetch(owner.controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const body: unknown = await answer.json();
    return (
      typeof body === 'object' && body !== null && 'instance' in body && body.instance === owner.instance
    );
  } catch (error) {
    return isTimeout(error) ? null : false;
  }
}

/** Whether the process is a sandbox: its number may belong to another program by now. */
async function isSandbox(pid: number): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]);
    return stdout.includes(join('sandbox', 'main.'));
  } catch {
    return false;
  }
}

function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasErrorCode(error, 'EPERM');
  }
}
