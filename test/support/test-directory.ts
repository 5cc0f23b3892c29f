import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCluster, removeCluster } from '../../src/local/postgres/embedded-cluster';
import { findServer, stopServer } from '../../src/local/postgres/embedded-server';
import { isAlive } from '../../src/local/system';

const PREFIX = 'proxy-rental-tests-';

/** A new directory, named after this process, so that a later run removes what a killed one leaves. */
export async function createTestDirectory(name = ''): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-${name}`));
  // mkdtemp makes it the caller's alone, but the user that PostgreSQL runs as under root must enter it.
  await chmod(directory, 0o755);
  return directory;
}

/** Removes it with the database cluster that it may hold, which is stopped if it runs. */
export async function removeTestDirectory(directory: string): Promise<void> {
  if (existsSync(join(directory, 'postgres'))) {
    const cluster = await getCluster(directory, () => undefined);
    const server = await findServer(cluster);
    if (server !== null) {
      await stopServer(cluster, server);
    }
    await removeCluster(cluster, directory);
  }
  await rm(directory, { recursive: true, force: true });
}

/** Of runs that were killed. Another run that goes on beside this one is left alone. */
export async function removeLeftovers(): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    const pid = entry.startsWith(PREFIX) ? Number.parseInt(entry.slice(PREFIX.length), 10) : 0;
    if (pid > 0 && !isAlive(pid)) {
      // What cannot be removed, another user's for one, does not disturb this run.
      await removeTestDirectory(join(tmpdir(), entry)).catch(() => undefined);
    }
  }
}
