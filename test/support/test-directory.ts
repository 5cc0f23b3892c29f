import { existsSync, statfsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCluster } from '../../src/local/postgres/embedded-cluster';
import { findServer, stopServer } from '../../src/local/postgres/embedded-server';
import { isAlive } from '../../src/local/system';

const PREFIX = 'proxy-rental-tests-';
const MEMORY = '/dev/shm';
/** More than the databases of all concurrent tests take. */
const ENOUGH_BYTES = 8 * 2 ** 30;

/** Most tests copy a database, 600 files, which takes a disk up to ten times as long as memory. */
const SCRATCH = existsSync(MEMORY) && freeBytes(MEMORY) > ENOUGH_BYTES ? MEMORY : tmpdir();

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Named after this process, so that a later run can remove the directories of killed ones. */
export async function createTestDirectory(name = '', parent: string = SCRATCH): Promise<string> {
  const directory = await mkdtemp(join(parent, `${PREFIX}${process.pid}-${name}`));
  // mkdtemp admits only the caller, but PostgreSQL runs as another user when the caller is root.
  await chmod(directory, 0o755);
  return directory;
}

/** Stops a database cluster in the directory first. */
export async function removeTestDirectory(directory: string): Promise<void> {
  if (existsSync(join(directory, 'postgres'))) {
    const cluster = await getCluster(directory, () => undefined);
    if ((await findServer(cluster)) !== null) await stopServer(cluster);
    // The cluster may be elsewhere, linked from the directory.
    await rm(cluster.directory, { recursive: true, force: true });
  }
  await rm(directory, { recursive: true, force: true });
}

/** Removes the directories of killed runs. */
export async function removeLeftovers(): Promise<void> {
  for (const parent of new Set([SCRATCH, tmpdir()])) {
    for (const entry of await readdir(parent)) {
      const pid = entry.startsWith(PREFIX) ? Number.parseInt(entry.slice(PREFIX.length), 10) : 0;
      if (pid > 0 && !isAlive(pid)) {
        // Another user's directory, for example, cannot be removed, and does no harm.
        await removeTestDirectory(join(parent, entry)).catch(() => undefined);
      }
    }
  }
}
