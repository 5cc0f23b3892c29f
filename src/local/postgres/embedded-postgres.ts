import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join as joinPath } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { messageOf } from '../../common';
import { createRoleStatement, type DatabaseAddress } from '../../database';
import { isErrorWithCode } from '../system';
import { runAs } from './embedded-account';
import {
  CHILD_ENVIRONMENT,
  type Cluster,
  getCluster,
  SERVICE_ROLE,
  servicePassword,
  SUPERUSER,
} from './embedded-cluster';

const run = promisify(execFile);

/**
 * The life of the embedded server. A service and commands of the command line share one server, in any order:
 * the first starts it, the last stops it.
 *
 * | state    | how it is detected                        | who joins              | who leaves       |
 * | -------- | ----------------------------------------- | ---------------------- | ---------------- |
 * | absent   | no `postgres` in the data directory       | creates it: stopped    |                  |
 * | stopped  | no server has the id in postmaster.pid    | starts it: starting    | has nothing to do |
 * | starting | it runs, and refuses connections          | tries again            |                  |
 * | unused   | the lock is free: its user was killed     | shares the lock: used  |                  |
 * | used     | its users share the lock                  | shares the lock        | gives up its share |
 * | stopping | its last user has the lock exclusively    | waits for it: stopped  | stops it         |
 *
 * The lock is PostgreSQL's own, which releases it with the connection, so that no killed process keeps it; a
 * lock file could not do that. Of two processes that start the server at once, one succeeds; both join it.
 */
const USE_LOCK = 20_631_004;

const DATABASE = 'proxy_rental';
/** The users take their lock in this database, because advisory locks are per database. */
const MAINTENANCE_DATABASE = 'postgres';

const JOIN_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 60_000;
const RETRY_MS = 50;
const POLL_MS = 20;
const LOG_LINES_IN_ERROR = 5;

export const LOOPBACK = '127.0.0.1';

const INVALID_PASSWORD = '28P01';
const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505';

/** Names and values as in postgresql.conf. */
export type ServerSettings = Readonly<Record<string, string>>;

const SETTINGS: ServerSettings = {
  listen_addresses: LOOPBACK,
  unix_socket_directories: '',
  max_connections: '200',
  log_checkpoints: 'off',
  // Details and statements can contain rows, and rows contain the customers' passwords.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/** A start that fails with these is retried: another was faster, or the last server is still stopping. */
const TRANSIENT = [
  'lock file "postmaster.pid" already exists',
  'pre-existing shared memory block',
  'Address already in use',
];

export interface EmbeddedPostgres extends DatabaseAddress {
  /** The URL of the service's database, for the service's role, with its password. */
  readonly url: string;
  /** The same for the superuser, who owns the tables. */
  readonly ownerUrl: string;
  /** Ends the use. The last user stops the server and waits until it has ended. */
  release(): Promise<void>;
}

/** A server process, which may still be starting or already be stopping. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
}

/**
 * The PostgreSQL of a data directory while it is in use.
 *
 * @param options.onNote receives single lines for the user: problems, and where data outside `dataDir` is
 * @throws Error with one line for the user, without secrets
 */
export async function acquireEmbeddedPostgres({
  dataDir,
  onNote,
}: {
  dataDir: string;
  onNote: (line: string) => void;
}): Promise<EmbeddedPostgres> {
  const cluster = await getCluster(dataDir, onNote);
  const { lock, port } = await join(cluster);
  let released: Promise<void> | null = null;
  lock.once('end', () => {
    if (released === null) onNote(`The embedded PostgreSQL has ended. See ${cluster.logFile}`);
  });
  return {
    url: serviceUrl(cluster, port),
    ownerUrl: `postgres://${SUPERUSER}:${cluster.password}@${LOOPBACK}:${port}/${DATABASE}`,
    release: () => (released ??= release(cluster, lock)),
  };
}

const serviceUrl = (cluster: Cluster, port: number): string =>
  `postgres://${SERVICE_ROLE}:${servicePassword(cluster)}@${LOOPBACK}:${port}/${DATABASE}`;

/** Finds or starts the server, shares the lock, and creates the database and the service's role. */
async function join(cluster: Cluster): Promise<{ lock: Client; port: number }> {
  const deadline = Date.now() + JOIN_TIMEOUT_MS;
  let lastError = '';
  while (Date.now() < deadline) {
    const server = await findServer(cluster);
    if (server === null) {
      await startServer(cluster);
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
  // The 'end' event reports a lost connection. Without this listener the error would end the process.
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

async function release(cluster: Cluster, lock: Client): Promise<void> {
  try {
    await leave(cluster, lock);
  } catch {
    // The connection was lost. A server that still runs must be stopped if it has no other users.
    if ((await findServer(cluster)) === null) return;
    const { lock: anew } = await join(cluster);
    await leave(cluster, anew);
  }
}

/**
 * Releases the shared lock first: otherwise two processes that leave at once would prevent each other from
 * being the last. A process that arrives while the exclusive lock is held waits for it, loses the connection
 * when the server stops, and starts the server again.
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

/** The server in postmaster.pid, provided that it really runs. */
export async function findServer(cluster: Cluster): Promise<ServerProcess | null> {
  const recorded = await readPidFile(cluster);
  return recorded !== null && (await isServer(cluster, recorded.pid)) ? recorded : null;
}

/**
 * Starts a server. Returns when it accepts connections or when another attempt may succeed: then find the
 * server, and start it again if there is none.
 */
export async function startServer(
  cluster: Cluster,
  options: {
    settings?: ServerSettings;
    /** Additional environment variables of its processes. */
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<void> {
  const settings = { ...SETTINGS, port: String(await choosePort()), ...options.settings };
  const log = await openLog(cluster);
  try {
    const { size: logStart } = await log.stat();
    const server = spawn(
      joinPath(cluster.binaries, 'bin', 'postgres'),
      [
        '-D',
        cluster.dataDirectory,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      {
        ...runAs(cluster.account),
        cwd: '/',
        env: { ...CHILD_ENVIRONMENT, ...options.environment, ...(await disownRecordedPid(cluster)) },
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    );
    server.unref();
    const failure = await settle(server, cluster);
    if (failure === null) return;
    const said = (await readFile(cluster.logFile)).subarray(logStart).toString();
    if (!TRANSIENT.some((message) => said.includes(message))) {
      const last = said.trim().split('\n').slice(-LOG_LINES_IN_ERROR).join(' | ');
      throw new Error(`The embedded PostgreSQL did not start (${failure}). ${last} See ${cluster.logFile}`);
    }
    await pause(RETRY_MS);
  } finally {
    await log.close();
  }
}

/** Stops the server like `pg_ctl stop -m fast`: it rolls open transactions back, writes the data and ends. */
export async function stopServer(cluster: Cluster, server: ServerProcess): Promise<void> {
  try {
    process.kill(server.pid, 'SIGINT');
  } catch (error) {
    if (!isErrorWithCode(error, 'ESRCH')) throw error;
  }
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await isServer(cluster, server.pid)) {
    if (Date.now() > deadline) {
      throw new Error(
        `The embedded PostgreSQL (process ${server.pid}) does not stop. See ${cluster.logFile}`,
      );
    }
    await pause(POLL_MS);
  }
}

/** Waits until the server is ready (null) or has ended (how it ended). */
async function settle(server: ChildProcess, cluster: Cluster): Promise<string | null> {
  const end = new AbortController();
  server.once('error', (error) => end.abort(error.message));
  server.once('exit', (code, name) => end.abort(name ?? `exit code ${code}`));
  while (!end.signal.aborted) {
    const recorded = await readPidFile(cluster);
    if (recorded?.isReady === true && recorded.pid === server.pid) return null;
    await pause(POLL_MS);
  }
  return String(end.signal.reason);
}

async function readPidFile(cluster: Cluster): Promise<(ServerProcess & { isReady: boolean }) | null> {
  let text: string;
  try {
    text = await readFile(joinPath(cluster.dataDirectory, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (isErrorWithCode(error, 'ENOENT')) return null;
    throw error;
  }
  const lines = text.split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port, isReady: lines[7]?.trim() === 'ready' } : null;
}

/** After a crash, the process id in postmaster.pid may belong to another program. */
async function isServer(cluster: Cluster, pid: number): Promise<boolean> {
  return (await findCommand(pid))?.includes(`/bin/postgres -D ${cluster.dataDirectory} -c `) ?? false;
}

/**
 * PostgreSQL does not start while the process in postmaster.pid lives, even another program's, unless this
 * variable contains its id (as with pg_ctl). PostgreSQL itself takes the file over, so that only one of two
 * starts succeeds.
 */
async function disownRecordedPid(cluster: Cluster): Promise<Record<string, string>> {
  const recorded = await readPidFile(cluster);
  const command = recorded === null ? null : await findCommand(recorded.pid);
  const isOther = command !== null && command !== '' && !command.includes('postgres');
  return recorded !== null && isOther ? { PG_GRANDPARENT_PID: String(recorded.pid) } : {};
}

/** The program and its arguments, separated by spaces. */
async function findCommand(pid: number): Promise<string | null> {
  try {
    return process.platform === 'linux'
      ? (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
      : (await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    return null;
  }
}

async function choosePort(): Promise<number> {
  const listener = createServer().listen(0, LOOPBACK);
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  return port;
}

/** Opens the log without following links, because the server's user owns the directory. */
async function openLog(cluster: Cluster): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const log = await open(cluster.logFile, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  if (!cluster.account.isSelf) await log.chown(cluster.account.uid, cluster.account.gid);
  return log;
}
