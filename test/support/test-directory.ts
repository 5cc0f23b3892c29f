import { existsSync, statfsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCluster } from '../../src/local/postgres/embedded-cluster';
import { findServer, stopServer } from '../../src/local/postgres/embedded-server';
import { isAlive } from '../../src/local/system';

const PREFIX = 'proxy-rental-tests-';

const MEMORY = '/dev/shm';
/** More than the databases of all tests that run at once take. */
const ENOUGH_BYTES = 8 * 2 ** 30;

/** Most tests copy a database, 600 files, which takes a disk up to ten times as long as memory. */
const SCRATCH = existsSync(MEMORY) && freeBytes(MEMORY) > ENOUGH_BYTES ? MEMORY : tmpdir();

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/**
 * Creates a directory named after this process: a later run removes those of processes that were killed.
 *
 * @param parent the disk for what is hard-linked with the project
 */
export async function createTestDirectory(name = '', parent: string = SCRATCH): Promise<string> {
  const directory = await mkdtemp(join(parent, `${PREFIX}${process.pid}-${name}`));
  // mkdtemp lets only the caller in, but PostgreSQL runs as another user when the caller is root.
  await chmod(directory, 0o755);
  return directory;
}

/** Removes the directory and a database cluster in it, which is stopped first. */
export async function removeTestDirectory(directory: string): Promise<void> {
  if (existsSync(join(directory, 'postgres'))) {
    const cluster = await getCluster(directory, () => undefined);
    const server = await findServer(cluster);
    if (server !== null) {
      await stopServer(cluster);
    }
    // It may be elsewhere, with a link in the directory.
    await rm(cluster.directory, { recursive: true, force: true });
  }
  await rm(directory, { recursive: true, force: true });
}

/** Removes the directories of runs that were killed. Those of other current runs stay. */
export async function removeLeftovers(): Promise<void> {
  for (const parent of new Set([SCRATCH, tmpdir()])) {
    for (const entry of await readdir(parent)) {
      const pid = entry.startsWith(PREFIX) ? Number.parseInt(entry.slice(PREFIX.length), 10) : 0;
      if (pid > 0 && !isAlive(pid)) {
        // A directory that cannot be removed, as one of another user, does no harm to this run.
        await removeTestDirectory(join(parent, entry)).catch(() => undefined);
      }
    }
  }
}
