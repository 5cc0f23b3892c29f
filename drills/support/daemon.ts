import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../src/common';
import { runAs, type ServerAccount } from '../../src/local/postgres/embedded-account';

const STORED_CHARACTERS = 100_000;
const SHOWN_CHARACTERS = 3000;
const POLL_MS = 50;

export interface Daemon {
  readonly name: string;
  readonly pid: number;
  isRunning(): boolean;
  output(): string;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<void>;
  stop(options?: { signal?: NodeJS.Signals; patienceMs?: number }): Promise<void>;
}

interface ProgramOptions {
  readonly program: string;
  readonly parameters?: readonly string[];
  readonly account?: ServerAccount;
  readonly directory?: string;
  /** Nothing else of this process's environment is passed on. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface DaemonOptions extends ProgramOptions {
  readonly name?: string;
  readonly isReady?: (output: string) => boolean | Promise<boolean>;
  readonly timeoutMs?: number;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const spawnProgram = ({ program, parameters = [], account, directory, environment }: ProgramOptions) =>
  spawn(program, parameters, {
    cwd: directory ?? '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(account && runAs(account)),
  });

/** Returns when the program is ready. The program is killed when this process exits. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { name = basename(options.program), isReady = () => true, timeoutMs = 30_000 } = options;
  const child = spawnProgram(options);
  const kill = (): void => void child.kill('SIGKILL');
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-STORED_CHARACTERS);
    });
  }
  const end: { how?: string } = {};
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      end.how ??= messageOf(error);
      if (child.pid === undefined) resolve();
    });
    child.once('exit', (code, signal) => {
      end.how = `it ended with ${signal ?? code}`;
      running.delete(child);
      resolve();
    });
  });
  // A program that cannot be started says so in the next turn of the event loop.
  if (child.pid === undefined) await ended;
  const deadlineMs = performance.now() + timeoutMs;
  while (end.how !== undefined || !(await isReady(output))) {
    if (end.how === undefined && performance.now() < deadlineMs) {
      await pause(POLL_MS);
      continue;
    }
    kill();
    throw new Error(
      `${name} did not start: ${end.how ?? 'it took too long'}: ${output.slice(-SHOWN_CHARACTERS)}`,
    );
  }
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    name,
    pid: child.pid ?? 0,
    isRunning,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    ended,
    async stop({ signal = 'SIGTERM', patienceMs = 10_000 } = {}) {
      if (!isRunning()) return ended;
      const timer = setTimeout(kill, patienceMs);
      // A stopped process receives no other signal.
      child.kill('SIGCONT');
      child.kill(signal);
      await ended;
      clearTimeout(timer);
    },
  };
}

export async function runProgram(options: ProgramOptions): Promise<string> {
  const child = spawnProgram(options);
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return said.stdout;
  const shown = `${said.stderr}${said.stdout}`.slice(-SHOWN_CHARACTERS);
  throw new Error(`${basename(options.program)} ended with ${signal ?? code}: ${shown}`);
}
