import { chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate } from '../../src/database';
import {
  type Cluster,
  getCluster,
  SERVICE_ROLE,
  servicePassword,
  SUPERUSER,
} from '../../src/local/postgres/embedded-cluster';
import {
  findServer,
  LOOPBACK,
  type ServerSettings,
  startServer,
} from '../../src/local/postgres/embedded-server';
import { eventually } from './built-service';
import { connectClient, type DatabaseUrls } from './test-database';
import { createTestDirectory, removeTestDirectory } from './test-directory';

export interface OwnPostgres extends DatabaseUrls {
  /** Ends every session as a crash does. Returns when the server is up again on the same port. */
  restartImmediately(): Promise<void>;
  /** Recovers from an archive, so that a new timeline begins as after a restore. */
  restartOnNewTimeline(): Promise<void>;
  close(): Promise<void>;
}

const SETTINGS = { fsync: 'off' };

export async function startOwnPostgres(
  environment: Readonly<Record<string, string>> = {},
  settings: ServerSettings = {},
): Promise<OwnPostgres> {
  const directory = await createTestDirectory('postgres-');
  const cluster = await getCluster(directory, () => undefined);
  const all = { ...SETTINGS, ...settings };
  const port = await start(cluster, all, environment);
  const again = { ...all, port: String(port) };
  const place = `${LOOPBACK}:${port}`;
  const owner = `postgres://${SUPERUSER}:${cluster.password}@${place}`;
  const admin = await connectClient(`${owner}/postgres`);
  await admin.query('CREATE DATABASE service');
  await admin.end();
  const url = `postgres://${SERVICE_ROLE}:${servicePassword(cluster)}@${place}/service`;
  const ownerUrl = `${owner}/service`;
  await migrate({ url, ownerUrl });
  return {
    url,
    ownerUrl,
    async restartImmediately() {
      await endImmediately(cluster);
      await start(cluster, again, environment);
    },
    async restartOnNewTimeline() {
      await endImmediately(cluster);
      const signal = join(cluster.dataDirectory, 'recovery.signal');
      await writeFile(signal, '');
      // The server removes the file, possibly as another user.
      await chown(signal, cluster.account.uid, cluster.account.gid);
      await start(cluster, { ...again, restore_command: 'false' }, environment);
    },
    close: () => removeTestDirectory(directory),
  };
}

/** A given port is used as soon as the previous server has released it. @returns the port */
async function start(
  cluster: Cluster,
  settings: ServerSettings,
  environment: Readonly<Record<string, string>>,
): Promise<number> {
  for (;;) {
    await startServer(cluster, { settings, environment });
    const server = await findServer(cluster);
    if (server) return server.port;
  }
}

async function endImmediately(cluster: Cluster): Promise<void> {
  const server = await findServer(cluster);
  if (!server) return;
  process.kill(server.pid, 'SIGQUIT');
  await eventually(async () => (await findServer(cluster)) === null);
}
