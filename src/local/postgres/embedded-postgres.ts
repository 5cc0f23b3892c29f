import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { messageOf } from '../../common';
import { createRoleStatement, type DatabaseAddress } from '../../database';
import { isErrorWithCode } from '../system';
import { type Cluster, getCluster, SERVICE_ROLE, servicePassword, SUPERUSER } from './embedded-cluster';
import { findServer, LOOPBACK, startServer, stopServer } from './embedded-server';

const DATABASE = 'proxy_rental';
/** Of a restore: the database that is going to replace the service's, and the one that it has replaced. */
const REPLACEMENT = `${DATABASE}_replacement`;
const REPLACED = `${DATABASE}_replaced`;
/** The users of a server hold their lock in this database, because advisory locks are per database. */
const MAINTENANCE_DATABASE = 'postgres';
/**
 * Advisory lock: shared by every process that uses the server, exclusive for the one that stops it.
 * PostgreSQL releases it with the connection, so that no killed process keeps it; a lock file could not do
 * that.
 */
const USE_LOCK = 20_631_004;

const JOIN_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const RETRY_MS = 50;
const REJOIN_RETRY_MS = 1000;

const INVALID_PASSWORD = '28P01';
const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505';

export interface EmbeddedPostgres {
  /** The URL of the service's database, for the service's role, with its password. */
  readonly url: string;
  /** The same for the superuser, who owns the tables. */
  readonly ownerUrl: string;
  /** Ends the use. The last user stops the server and waits until it has ended. */
  release(): Promise<void>;
}

/** A connection that holds the lock: nobody stops the server while it is open. */
interface Joined {
  readonly lock: Client;
  readonly port: number;
}

/**
 * The PostgreSQL of a data directory, for as long as it is used. All processes that use a directory share one
 * server: the first starts it, the last stops it, and a server that a killed process left running is taken
 * over. A server that dies in use is started again on its port.
 *
 * @param options.onNote receives single lines for the user: trouble, and where data outside `dataDir` is
 * @throws Error with one line for the user, without secrets
 */
export async function acquireEmbeddedPostgres(options: {
  dataDir: string;
  onNote: (line: string) => void;
}): Promise<EmbeddedPostgres> {
  const cluster = await getCluster(options.dataDir, options.onNote);
  const use = new ServerUse(cluster, await join(cluster), options.onNote);
  return {
    url: serviceUrl(cluster, use.port),
    ownerUrl: ownerUrl(cluster, use.port),
    release: () => use.release(),
  };
}

const serviceUrl = (cluster: Cluster, port: number, database = DATABASE): string =>
  `postgres://${SERVICE_ROLE}:${servicePassword(cluster)}@${LOOPBACK}:${port}/${database}`;

const ownerUrl = (cluster: Cluster, port: number, database = DATABASE): string =>
  `postgres://${SUPERUSER}:${cluster.password}@${LOOPBACK}:${port}/${database}`;

/** The server of a data directory, while nobody else uses it. */
export interface ExclusivePostgres {
  /** The addresses of the service's database. */
  readonly address: OwnedDatabase;
  /** Creates a database beside that of the service. One that was never put in place is dropped. */
  createReplacement(): Promise<OwnedDatabase>;
  /** Puts the replacement in the place of the service's database, which is dropped. */
  putInPlace(): Promise<void>;
  /** Removes the replacement if there still is one, and stops the server. */
  release(): Promise<void>;
}

/** A database, for the service's role and for its owner. */
export interface OwnedDatabase extends DatabaseAddress {
  readonly ownerUrl: string;
}

/**
 * Takes the server of a data directory for this process alone. Others that start meanwhile wait until it is
 * released.
 *
 * @throws Error when another process uses it
 */
export async function acquireEmbeddedPostgresAlone({
  dataDir,
  onNote,
}: {
  dataDir: string;
  onNote: (line: string) => void;
}): Promise<ExclusivePostgres> {
  const cluster = await getCluster(dataDir, onNote);
  const { lock: session, port } = await join(cluster);
  const addressOf = (database: string): OwnedDatabase => ({
    url: serviceUrl(cluster, port, database),
    ownerUrl: ownerUrl(cluster, port, database),
  });
  const dropOthers = async (): Promise<void> => {
    for (const name of [REPLACEMENT, REPLACED]) await session.query(`DROP DATABASE IF EXISTS ${name}`);
  };
  try {
    if (!(await takeAlone(session))) {
      throw new Error('The database is in use: stop the service and all commands, and try again.');
    }
  } catch (error) {
    await leave(cluster, session);
    throw error;
  }
  return {
    address: addressOf(DATABASE),
    async createReplacement() {
      await dropOthers();
      await session.query(`CREATE DATABASE ${REPLACEMENT}`);
      return addressOf(REPLACEMENT);
    },
    async putInPlace() {
      // One commit: a crash leaves the old database in place or the new one.
      await session.query(
        `BEGIN;
         ALTER DATABASE ${DATABASE} RENAME TO ${REPLACED};
         ALTER DATABASE ${REPLACEMENT} RENAME TO ${DATABASE};
         COMMIT`,
      );
    },
    async release() {
      try {
        await dropOthers();
      } finally {
        await leave(cluster, session);
      }
    },
  };
}

/** Whether nobody else holds the lock, or is connected to the database without it. */
async function takeAlone(session: Client): Promise<boolean> {
  await session.query('SELECT pg_advisory_unlock_shared($1)', [USE_LOCK]);
  const { rows } = await session.query<{ isAlone: boolean }>(
    `SELECT pg_try_advisory_lock($1)
        AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $2 AND backend_type = 'client backend')
         AS "isAlone"`,
    [USE_LOCK, DATABASE],
  );
  return rows[0]?.isAlone === true;
}

/** Holds the lock and takes it again whenever its connection is lost. */
class ServerUse {
  readonly port: number;
  private lock: Client | null = null;
  private released: Promise<void> | null = null;
  private rejoining = Promise.resolve();

  constructor(
    private readonly cluster: Cluster,
    joined: Joined,
    private readonly onNote: (line: string) => void,
  ) {
    this.port = joined.port;
    this.hold(joined.lock);
  }

  release(): Promise<void> {
    this.released ??= this.leave();
    return this.released;
  }

  private async leave(): Promise<void> {
    await this.rejoining;
    if (this.lock === null) return;
    try {
      await leave(this.cluster, this.lock);
    } catch (error) {
      // The connection was lost just now. A server that still runs must be stopped.
      if ((await findServer(this.cluster)) !== null) {
        this.onNote(messageOf(error));
        await leave(this.cluster, (await join(this.cluster)).lock);
      }
    }
  }

  private hold(lock: Client): void {
    this.lock = lock;
    lock.once('end', () => {
      this.lock = null;
      if (this.released === null) this.rejoining = this.rejoin();
    });
  }

  private async rejoin(): Promise<void> {
    this.onNote('The connection to the embedded PostgreSQL was lost; connecting again.');
    let trouble = '';
    while (this.released === null) {
      try {
        const { lock, port } = await join(this.cluster, this.port);
        this.hold(lock);
        if (port !== this.port) {
          this.onNote('The embedded PostgreSQL could not get its port back: start this process again.');
        }
        return;
      } catch (error) {
        if (trouble !== messageOf(error)) {
          trouble = messageOf(error);
          this.onNote(trouble);
        }
        await pause(REJOIN_RETRY_MS);
      }
    }
  }
}

/** Finds or starts the server, takes the lock, and creates the database and the service's role if need be. */
async function join(cluster: Cluster, preferredPort?: number): Promise<Joined> {
  const deadline = Date.now() + JOIN_TIMEOUT_MS;
  let lastError = '';
  while (Date.now() < deadline) {
    const server = await findServer(cluster);
    if (server === null) {
      await startServer(cluster, { preferredPort });
      continue;
    }
    try {
      return { lock: await connect(cluster, server.port), port: server.port };
    } catch (error) {
      if (isErrorWithCode(error, INVALID_PASSWORD)) {
        throw new Error(`The embedded PostgreSQL does not take the password kept in ${cluster.directory}.`, {
          cause: error,
        });
      }
      // The server is starting or stopping: the next attempt finds it ready or gone.
      lastError = messageOf(error);
    }
    await pause(RETRY_MS);
  }
  throw new Error(`The embedded PostgreSQL did not become ready: ${lastError}. See ${cluster.logFile}`);
}

async function connect(cluster: Cluster, port: number): Promise<Client> {
  const lock = new Client({
    host: LOOPBACK,
    port,
    user: SUPERUSER,
    password: cluster.password,
    database: MAINTENANCE_DATABASE,
    application_name: 'embedded-postgres-use',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The 'end' event tells of a lost connection. Without this listener the error would end the process.
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
    // Another process was faster.
    if (![DUPLICATE_DATABASE, UNIQUE_VIOLATION].some((code) => isErrorWithCode(error, code))) throw error;
  }
}

/**
 * Releases the shared lock first: two processes that leave at once would otherwise keep each other from being
 * the last. A process that arrives while the exclusive lock is held waits for it, loses the connection when
 * the server stops, and starts the server again.
 */
async function leave(cluster: Cluster, lock: Client): Promise<void> {
  try {
    await lock.query('SELECT pg_advisory_unlock_shared($1)', [USE_LOCK]);
    const { rows } = await lock.query<{ isLast: boolean }>('SELECT pg_try_advisory_lock($1) AS "isLast"', [
      USE_LOCK,
    ]);
    const server = rows[0]?.isLast === true ? await findServer(cluster) : null;
    if (server !== null) await stopServer(cluster, server);
  } finally {
    await lock.end().catch(() => undefined);
  }
}
