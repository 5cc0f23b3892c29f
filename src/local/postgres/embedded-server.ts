import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isErrorWithCode } from '../system';
import { runAs } from './embedded-account';
import { CHILD_ENVIRONMENT, type Cluster, remedyFor } from './embedded-cluster';

const run = promisify(execFile);

const STOP_TIMEOUT_SECONDS = 60;
const POLL_MS = 20;
const LOG_LINES_IN_ERROR = 5;
/** PostgreSQL stops within this time if its postmaster.pid is unreadable. */
const UNREADABLE_MS = 60_000;
const REPLAY_NOTE_MS = 10_000;

export const LOOPBACK = '127.0.0.1';

export type ServerSettings = Readonly<Record<string, string>>;

const SETTINGS: ServerSettings = {
  listen_addresses: LOOPBACK,
  unix_socket_directories: '',
  max_connections: '200',
  log_checkpoints: 'off',
  // Error details and statements are not logged, because they can contain customers' passwords.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/** Errors worth a retry: another process has started the server, or a server is still stopping. */
const TRANSIENT = [
  'lock file "postmaster.pid" already exists',
  'pre-existing shared memory block',
  'Address already in use',
];

/** The server may still be starting, or already be stopping. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
}

export async function findServer(cluster: Cluster): Promise<ServerProcess | null> {
  const recorded = await readPidFile(cluster);
  return recorded !== null && (await isServer(cluster, recorded.pid)) ? recorded : null;
}

/**
 * Reuses the port of a killed server if possible, because other processes may still use that server's
 * address. Does not use `pg_ctl start`, which passes paths to a shell unquoted.
 * @returns null once the server accepts connections; otherwise why another attempt is needed
 */
export async function startServer(
  cluster: Cluster,
  options: {
    settings?: ServerSettings;
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<string | null> {
  const obstacle = await removeUnreadablePidFile(cluster);
  if (obstacle !== null) return obstacle;
  const recorded = await readPidFile(cluster);
  const settings = { ...SETTINGS, port: String(await choosePort(recorded?.port)), ...options.settings };
  const log = await openLog(cluster);
  try {
    const { size: logStart } = await log.stat();
    const server = spawn(
      join(cluster.binaries, 'bin', 'postgres'),
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
    if (failure === null) return null;
    const said = (await readFile(cluster.logFile)).subarray(logStart).toString();
    const transient = TRANSIENT.find((message) => said.includes(message));
    if (transient !== undefined) return transient;
    const last = said.trim().split('\n').slice(-LOG_LINES_IN_ERROR).join(' | ');
    throw new Error(
      `The embedded PostgreSQL did not start (${failure}). ${last}${remedyFor(said)} See ${cluster.logFile}`,
    );
  } finally {
    await log.close();
  }
}

export async function stopServer(cluster: Cluster): Promise<void> {
  const parameters = ['stop', '-D', cluster.dataDirectory, '-m', 'fast', '-t', String(STOP_TIMEOUT_SECONDS)];
  try {
    const options = { ...runAs(cluster.account), cwd: '/', env: CHILD_ENVIRONMENT };
    await run(join(cluster.binaries, 'bin', 'pg_ctl'), parameters, options);
  } catch (cause) {
    if ((await findServer(cluster)) === null) return;
    throw new Error(`The embedded PostgreSQL did not stop. See ${cluster.logFile}`, { cause });
  }
}

/** @returns null if the server is ready, otherwise how it ended */
async function settle(server: ChildProcess, cluster: Cluster): Promise<string | null> {
  const end = new AbortController();
  server.once('error', (error) => end.abort(error.message));
  server.once('exit', (code, name) => end.abort(name ?? `exit code ${code}`));
  const note = setTimeout(() => {
    cluster.onNote(`PostgreSQL is still starting: it may be replaying a long log. See ${cluster.logFile}`);
  }, REPLAY_NOTE_MS);
  try {
    while (!end.signal.aborted) {
      const recorded = await readPidFile(cluster);
      if (recorded?.isReady === true && recorded.pid === server.pid) return null;
      await pause(POLL_MS);
    }
    return String(end.signal.reason);
  } finally {
    clearTimeout(note);
  }
}

const pidFileOf = (cluster: Cluster): string => join(cluster.dataDirectory, 'postmaster.pid');

async function readPidFile(cluster: Cluster): Promise<(ServerProcess & { isReady: boolean }) | null> {
  let text: string;
  try {
    text = await readFile(pidFileOf(cluster), 'utf8');
  } catch (error) {
    if (isErrorWithCode(error, 'ENOENT')) return null;
    throw error;
  }
  const lines = text.split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port, isReady: lines[7]?.trim() === 'ready' } : null;
}

/**
 * Removes a postmaster.pid that a power cut has made unreadable, because PostgreSQL would not start with it.
 * The lock keeps other processes that start at the same time from removing the new server's file.
 * @returns why the file cannot be removed yet; null if it was removed or is readable
 */
async function removeUnreadablePidFile(cluster: Cluster): Promise<string | null> {
  const path = pidFileOf(cluster);
  const isUnreadable = async (): Promise<boolean> =>
    !(Number.parseInt(await readFile(path, 'utf8').catch(() => '1'), 10) > 0);
  if (process.platform !== 'linux' || !(await isUnreadable())) return null;
  const { dev, ino } = await stat(cluster.dataDirectory);
  const lock = createServer().listen(`\0proxy-rental-postgres-${dev}-${ino}`);
  try {
    await once(lock, 'listening');
    if (!(await isUnreadable())) return null;
    const { mtimeMs } = await stat(path);
    if (Math.abs(Date.now() - mtimeMs) < UNREADABLE_MS) return 'postmaster.pid has just become unreadable';
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      if (await mayUse(pid, cluster)) return `postmaster.pid is unreadable, and process ${pid} uses the data`;
    }
    await rm(path);
    cluster.onNote(`Removed ${path}, which was unreadable, probably because of a power failure.`);
    return null;
  } catch (error) {
    if (isErrorWithCode(error, 'EADDRINUSE')) return 'another process removes postmaster.pid';
    throw error;
  } finally {
    lock.close();
  }
}

/** After a crash, or in a copy of the data, postmaster.pid may name another process, so check the program. */
async function isServer(cluster: Cluster, pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const [program = '', option, directory] = command.split('\0');
    if (!program.endsWith('/bin/postgres') || option !== '-D') return false;
    return (await worksIn(pid, cluster)) ?? directory === cluster.dataDirectory;
  }
  const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout.includes(`/bin/postgres -D ${cluster.dataDirectory} -c `);
}

/** Undefined if unknown: in a container, even root may be unable to inspect other users' processes. */
async function worksIn(pid: number | string, cluster: Cluster): Promise<boolean | undefined> {
  const data = await stat(cluster.dataDirectory);
  try {
    const { dev, ino } = await stat(`/proc/${pid}/cwd`);
    return dev === data.dev && ino === data.ino;
  } catch (error) {
    return isErrorWithCode(error, 'EACCES') ? undefined : false;
  }
}

/** If a process's directory is unknown, checks whether the process runs as the server's user. */
async function mayUse(pid: string, cluster: Cluster): Promise<boolean> {
  const isOfServersUser = async (): Promise<boolean> =>
    (await stat(`/proc/${pid}`).catch(() => null))?.uid === cluster.account.uid;
  return (await worksIn(pid, cluster)) ?? isOfServersUser();
}

/**
 * Returns variables that make PostgreSQL ignore another program's id in postmaster.pid, as pg_ctl does.
 * Leaves it to PostgreSQL to replace the file, so that only one of two concurrent starts succeeds.
 */
async function disownRecordedPid(cluster: Cluster): Promise<Record<string, string>> {
  const recorded = await readPidFile(cluster);
  const isOther = recorded !== null && !(await isServer(cluster, recorded.pid));
  return isOther ? { PG_GRANDPARENT_PID: String(recorded.pid) } : {};
}

async function choosePort(preferred = 0): Promise<number> {
  const listener = createServer().listen(preferred, LOOPBACK);
  try {
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  } catch (error) {
    if (preferred === 0) throw error;
    return await choosePort();
  } finally {
    listener.close();
  }
}

/** Does not follow symlinks, because the server's user owns the directory and could have planted one. */
async function openLog(cluster: Cluster): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const log = await open(cluster.logFile, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  if (!cluster.account.isSelf) await log.chown(cluster.account.uid, cluster.account.gid);
  return log;
}
