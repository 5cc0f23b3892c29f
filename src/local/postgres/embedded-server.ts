import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isErrorWithCode } from '../system';
import { runAs } from './embedded-account';
import { CHILD_ENVIRONMENT, type Cluster } from './embedded-cluster';

const run = promisify(execFile);

export const LOOPBACK = '127.0.0.1';
const POLL_MS = 20;
const RETRY_MS = 100;
const STOP_TIMEOUT_MS = 60_000;
const LOG_LINES_IN_ERROR = 5;

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

/** A start that fails with these is repeated: another was faster, or the last server is still ending. */
const TRANSIENT = [
  'lock file "postmaster.pid" already exists',
  'pre-existing shared memory block',
  'Address already in use',
];

/** A server process, which may still be starting or already be stopping. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
}

/** The server in postmaster.pid, provided that it really runs. */
export async function findServer(cluster: Cluster): Promise<ServerProcess | null> {
  const recorded = await readPidFile(cluster);
  return recorded !== null && (await isServer(cluster, recorded.pid)) ? recorded : null;
}

/**
 * Starts a server in a session of its own, which no Ctrl-C in a terminal reaches. Returns when it accepts
 * connections or when another attempt may succeed: find the server then, and start again when there is none.
 */
export async function startServer(
  cluster: Cluster,
  options: {
    preferredPort?: number | undefined;
    settings?: ServerSettings;
    /** What the environment of its processes has besides. */
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<void> {
  const settings = {
    ...SETTINGS,
    ...options.settings,
    port: String(await choosePort(options.preferredPort)),
  };
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
    if (failure === null) return;
    const said = (await readFile(cluster.logFile)).subarray(logStart).toString();
    if (!TRANSIENT.some((message) => said.includes(message))) {
      throw new Error(
        `The embedded PostgreSQL did not start (${failure}). ${lastLines(said)} See ${cluster.logFile}`,
      );
    }
    await pause(RETRY_MS);
  } finally {
    await log.close();
  }
}

/** Stops the server like `pg_ctl stop -m fast`: rolls open transactions back, writes the data and ends. */
export async function stopServer(cluster: Cluster, server: ServerProcess): Promise<void> {
  signal(server, 'SIGINT');
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

function signal(server: ServerProcess, name: NodeJS.Signals): void {
  try {
    process.kill(server.pid, name);
  } catch (error) {
    if (!isErrorWithCode(error, 'ESRCH')) throw error;
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
    text = await readFile(join(cluster.dataDirectory, 'postmaster.pid'), 'utf8');
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
 * PostgreSQL does not start while the process in postmaster.pid lives, whatever program it is, unless this
 * variable names it (pg_ctl uses it for the same purpose). PostgreSQL takes the file over by itself, so that
 * only one of two starts succeeds.
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

async function choosePort(preferred = 0): Promise<number> {
  const listener = createServer();
  try {
    return await new Promise((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(preferred, LOOPBACK, () => {
        const address = listener.address();
        resolve(typeof address === 'object' && address !== null ? address.port : preferred);
      });
    });
  } catch (error) {
    if (preferred === 0) throw error;
    return await choosePort();
  } finally {
    listener.close();
  }
}

/** Opens the log without following links, because the server's user owns the directory. */
async function openLog(cluster: Cluster): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const log = await open(cluster.logFile, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
  if (!cluster.account.isSelf) await log.chown(cluster.account.uid, cluster.account.gid);
  return log;
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-LOG_LINES_IN_ERROR).join(' | ');
}
