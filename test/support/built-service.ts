import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const PROJECT = join(__dirname, '..', '..');
const SERVICE = join(PROJECT, 'dist', 'src', 'main.js');
const CLI = join(PROJECT, 'dist', 'src', 'cli', 'main.js');
const NODE_START = [process.execPath, SERVICE];
export const NPM_START = ['npm', 'start'];

/** A build takes ten seconds, and may have to wait for another one. */
export const BUILD_TIMEOUT_MS = 200_000;
const DEADLINE_MS = 30_000;
const POLL_MS = 20;

type Environment = Readonly<Record<string, string>>;

export interface Outcome {
  /** The exit code, or the signal that ended the process. */
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BuiltService {
  readonly pid: number;
  readonly baseUrl: string;
  /** What was written until now. */
  stdout(): string;
  stderr(): string;
  /** A terminal's Ctrl-C: to everything that the terminal started and that did not leave its process group. */
  pressCtrlC(): void;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the process is gone, which somebody else must have asked for. */
  ended(): Promise<Outcome>;
  /** Asks it to end, as a supervisor does, and waits until it is gone. */
  stop(): Promise<Outcome>;
}

const running = new Set<ChildProcess>();

/** Builds dist/ if it is not what the sources say. */
export async function ensureBuild(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(PROJECT, 'scripts', 'build-if-stale.mjs')]);
}

/** Runs a command of the command line to its end. */
export function runCli(parameters: readonly string[], environment: Environment): Promise<Outcome> {
  return endOf(start([process.execPath, CLI, ...parameters], environment));
}

/** Runs a service that is expected to refuse to start. */
export function runService(environment: Environment): Promise<Outcome> {
  return endOf(start(NODE_START, environment));
}

/** Starts the service on a free port and returns when it has printed its address. */
export async function startBuiltService(
  environment: Environment,
  command: readonly string[] = NODE_START,
): Promise<BuiltService> {
  const started = start(command, { PORT: '0', ...environment });
  const { child, output } = started;
  const baseUrl = await eventually(async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      const { code, stderr } = await endOf(started);
      throw new Error(`the service has ended (${code}): ${stderr}`);
    }
    return /^Listening on\s+(http:\S+)$/m.exec(output.stdout)?.[1];
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('the service has no process');
  return {
    pid,
    baseUrl,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    pressCtrlC: () => void (child.exitCode === null && process.kill(-pid, 'SIGINT')),
    kill: (signal) => child.kill(signal),
    ended: () => endOf(started),
    stop: () => {
      child.kill('SIGTERM');
      return endOf(started);
    },
  };
}

/** For a file's end: whatever its tests have left running, because one failed. */
export async function killLeftovers(): Promise<void> {
  for (const child of running) child.kill('SIGKILL');
  await eventually(() => running.size === 0);
}

/** Asks again and again until there is an answer. */
export async function eventually<Answer>(
  ask: () => Answer | undefined | null | false | Promise<Answer | undefined | null | false>,
): Promise<Answer> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (performance.now() > deadlineMs) throw new Error(`waited ${DEADLINE_MS} ms in vain`);
    await pause(POLL_MS);
  }
}

/** What the embedded default runs beside the service, as the files in the data directory tell. */
export async function readCompanionPids(dataDir: string): Promise<{ postgres: number; sandbox: number }> {
  const postmaster = await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8');
  return { postgres: Number.parseInt(postmaster, 10), sandbox: (await readSandboxAddress(dataDir)).pid };
}

export async function readSandboxAddress(
  dataDir: string,
): Promise<{ pid: number; baseUrl: string; controlUrl: string; apiKey: string }> {
  return JSON.parse(await readFile(join(dataDir, 'sandbox', 'address.json'), 'utf8'));
}

/** Whether there is such a process; one that has ended and that nobody has asked about yet does not count. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return (
      process.platform !== 'linux' || !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    );
  } catch {
    return false;
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly closed: Promise<unknown>;
}

/** With nothing of this process's environment but the way to programs, in a process group of its own. */
function start([program = '', ...parameters]: readonly string[], environment: Environment): Started {
  const child = spawn(program, parameters, {
    cwd: PROJECT,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return { child, output, closed: once(child, 'close') };
}

/** Bounded by the test's own timeout. */
async function endOf({ child, output, closed }: Started): Promise<Outcome> {
  await closed;
  return { code: child.exitCode ?? child.signalCode, ...output };
}
