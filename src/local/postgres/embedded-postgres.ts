import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { messageOf } from '../../common';
import { createRoleStatement, type DatabaseAddress } from '../../database';
import { isErrorWithCode } from '../system';
import { type Cluster, getCluster, SERVICE_ROLE, servicePassword, SUPERUSER } from './embedded-cluster';
import { findServer, LOOPBACK, startServer, stopServer } from './embedded-server';

/**
 * Advisory lock that all users of the embedded server share. The first user starts the server. The last user
 * gets the lock exclusively and stops the server.
 * PostgreSQL releases the lock with the connection, so no killed process keeps it. A process that loses its
 * connection joins again, and restarts the server if the server was killed.
 */
const USE_LOCK = 20_631_004;

const USE_APPLICATION = 'embedded-postgres-use';
const DATABASE = 'proxy_rental';
/** The lock is taken in this database, because each database has its own advisory locks. */
const MAINTENANCE_DATABASE = 'postgres';

const JOIN_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long to wait for closed sessions to disappear from pg_stat_activity. */
const SESSIONS_END_MS = 2000;
const RETRY_MS = 50;
const POLL_MS = 20;

const INVALID_PASSWORD = '28P01';
const CANNOT_CONNECT_NOW = '57P03';
const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505';

export interface EmbeddedPostgres extends DatabaseAddress {
  readonly url: string;
  readonly ownerUrl: string;
  /** Rejects if the server has ended and cannot be restarted on its port. Never resolves. */
  readonly lost: Promise<never>;
  /** Stops using the server. If no other process uses it, also stops it and waits until it has ended. */
  release(): Promise<void>;
}

/**
 * Starts or joins the PostgreSQL server of a data directory, and keeps it running until it is released.
 * @param options.joinTimeoutMs how long to retry while a server refuses connections, excluding its startup
 * time
 * @throws Error whose message is a single line for the user, without secrets
 */
export async function acquireEmbeddedPostgres({
  dataDir,
  onNote,
  joinTimeoutMs = JOIN_TIMEOUT_MS,
}: {
  dataDir: string;
  onNote: (line: string) => void;
  joinTimeoutMs?: number;
}): Promise<EmbeddedPostgres> {
  const cluster = await getCluster(dataDir, onNote);
  const { port, ...first } = await join(cluster, joinTimeoutMs);
  let { lock } = first;
  let joined = Promise.resolve();
  let released: Promise<void> | null = null;
  const lost = new Promise<never>((_, reject) => {
    const follow = (): void => {
      lock.once('end', () => {
        if (released === null) joined = joinAgain().catch(reject);
      });
    };
    const joinAgain = async (): Promise<void> => {
      const isDead = (await findServer(cluster)) === null;
      if (isDead) onNote(`The embedded PostgreSQL has stopped. See ${cluster.logFile}`);
      ({ lock } = await join(cluster, joinTimeoutMs, port));
      follow();
      if (isDead) onNote('The embedded PostgreSQL is running again.');
    };
    follow();
  });
  // Commands do not await `lost`, so its rejection must not count as unhandled.
  lost.catch(() => undefined);
  return {
    url: serviceUrl(cluster, port),
    ownerUrl: `postgres://${SUPERUSER}:${cluster.password}@${LOOPBACK}:${port}/${DATABASE}`,
    lost,
    release: () => (released ??= joined.then(() => release(cluster, lock))),
  };
}

const serviceUrl = (cluster: Cluster, port: number): string =>
  `postgres://${SERVICE_ROLE}:${servicePassword(cluster)}@${LOOPBACK}:${port}/${DATABASE}`;

/** @param usedPort the port in the URLs that this process already uses */
async function join(
  cluster: Cluster,
  timeoutMs: number,
  usedPort?: number,
): Promise<{ lock: Client; port: number }> {
  const settings = usedPort === undefined ? {} : { port: String(usedPort) };
  let reason: string | null = null;
  for (let sinceMs = performance.now(); performance.now() - sinceMs < timeoutMs; await pause(RETRY_MS)) {
    const server = await findServer(cluster);
    if (server === null) {
      reason = await startServer(cluster, { settings });
      if (reason === null) sinceMs = performance.now();
      continue;
    }
    if (server.port !== (usedPort ?? server.port)) {
      throw new Error(`The embedded PostgreSQL was restarted on a port other than ${usedPort}.`);
    }
    try {
      return { lock: await connect(cluster, server.port), port: server.port };
    } catch (error) {
      if (isErrorWithCode(error, INVALID_PASSWORD)) {
        throw new Error(`The embedded PostgreSQL rejects the password stored in ${cluster.directory}.`, {
          cause: error,
        });
      }
      reason = messageOf(error);
      // Startup does not count towards the timeout, because the server may have a long log to replay.
      const isStarting = isErrorWithCode(error, CANNOT_CONNECT_NOW) && !reason.includes('shutting down');
      if (isStarting) sinceMs = performance.now();
    }
  }
  const how = reason || 'it keeps stopping';
  throw new Error(`The embedded PostgreSQL did not become ready: ${how}. See ${cluster.logFile}`);
}

async function connect(cluster: Cluster, port: number): Promise<Client> {
  const lock = new Client({
    host: LOOPBACK,
    port,
    user: SUPERUSER,
    password: cluster.password,
    database: MAINTENANCE_DATABASE,
    application_name: USE_APPLICATION,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // Errors are ignored, because the 'end' event also reports a lost connection. Without a listener, they
  // would end the process.
  lock.on('error', () => undefined);
  try {
    await lock.connect();
    await lock.query('SELECT pg_advisory_lock_shared($1)', [USE_LOCK]);
    await ensureDatabase(lock);
    await lock.query(createRoleStatement(serviceUrl(cluster, port)));
    return lock;
  } catch (error) {
    await lock.end().catch(() => undefined);
    throw error;
  }
}

async function ensureDatabase(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
  if (rowCount !== 0) return;
  try {
    await client.query(`CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    // Another process may have just created the database.
    if (![DUPLICATE_DATABASE, UNIQUE_VIOLATION].some((code) => isErrorWithCode(error, code))) throw error;
  }
}

async function release(cluster: Cluster, lock: Client): Promise<void> {
  try {
    await leave(cluster, lock);
  } catch {
    // The connection was lost. If the server is still running and has no other users, stop it.
    if ((await findServer(cluster)) === null) return;
    const { lock: anew } = await join(cluster, JOIN_TIMEOUT_MS);
    await leave(cluster, anew);
  }
}

/** Unlocks first, because two processes that leave together would otherwise each see the other as a user. */
async function leave(cluster: Cluster, lock: Client): Promise<void> {
  try {
    await lock.query('SELECT pg_advisory_unlock_shared($1)', [USE_LOCK]);
    const { rows } = await lock.query<{ isLast: boolean }>('SELECT pg_try_advisory_lock($1) AS "isLast"', [
      USE_LOCK,
    ]);
    if (rows[0]?.isLast === true && !(await hasOtherUsers(lock))) await stopServer(cluster);
  } finally {
    await lock.end().catch(() => undefined);
  }
}

/**
 * A service that lost its lock is still seen by its other sessions. A service without sessions is not seen
 * until it joins again: the server may stop first, and the service then starts the server again.
 */
async function hasOtherUsers(lock: Client): Promise<boolean> {
  const sinceMs = performance.now();
  for (;;) {
    const { rowCount } = await lock.query(
      `SELECT FROM pg_stat_activity
       WHERE pid <> pg_backend_pid() AND (usename = $1 OR application_name = $2)`,
      [SERVICE_ROLE, USE_APPLICATION],
    );
    if (rowCount === 0) return false;
    if (performance.now() - sinceMs > SESSIONS_END_MS) return true;
    await pause(POLL_MS);
  }
}
