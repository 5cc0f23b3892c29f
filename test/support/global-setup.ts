import { rmSync } from 'node:fs';
import { constants } from 'node:os';
import { type Cluster, getCluster, SUPERUSER } from '../../src/local/postgres/embedded-cluster';
import {
  findServer,
  LOOPBACK,
  type ServerProcess,
  type ServerSettings,
  startServer,
} from '../../src/local/postgres/embedded-server';
import { createTestDirectory, removeLeftovers, removeTestDirectory } from './test-directory';

const SETTINGS: ServerSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '500',
  jit: 'off',
  autovacuum: 'off',
  io_method: 'sync',
};

let removeTestServer: (() => Promise<void>) | null = null;

/** Starts one PostgreSQL for the run, unless TEST_POSTGRES_URL names a superuser's maintenance database. */
export default async function globalSetup(): Promise<void> {
  if (process.env['TEST_POSTGRES_URL'] !== undefined) return;
  await removeLeftovers();
  const directory = await createTestDirectory();
  const cluster = await getCluster(directory, () => undefined);
  const server = await startTestServer(cluster);
  const killAtExit = (): void => kill(server, cluster, directory);
  // Jest calls no teardown after an interrupt or --bail.
  process.once('exit', killAtExit);
  process.once('SIGINT', exitOn);
  process.once('SIGTERM', exitOn);
  removeTestServer = async () => {
    process.off('exit', killAtExit).off('SIGINT', exitOn).off('SIGTERM', exitOn);
    await removeTestDirectory(directory);
  };
  process.env['TEST_POSTGRES_URL'] =
    `postgres://${SUPERUSER}:${cluster.password}@${LOOPBACK}:${server.port}/postgres`;
}

/** Jest requires a separate file for the teardown, which calls this. */
export async function tearDown(): Promise<void> {
  if (removeTestServer !== null) {
    delete process.env['TEST_POSTGRES_URL'];
    await removeTestServer();
    removeTestServer = null;
  }
}

async function startTestServer(cluster: Cluster): Promise<ServerProcess> {
  for (;;) {
    await startServer(cluster, { settings: SETTINGS });
    const server = await findServer(cluster);
    if (server !== null) return server;
  }
}

function exitOn(signal: NodeJS.Signals): void {
  process.exit(128 + constants.signals[signal]);
}

function kill(server: ServerProcess, cluster: Cluster, directory: string): void {
  process.kill(server.pid, 'SIGQUIT');
  for (const path of [cluster.directory, directory]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
}
