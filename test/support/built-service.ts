import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const PROJECT = join(__dirname, '..', '..');
const NODE_START = [process.execPath, join(PROJECT, 'dist', 'src', 'main.js')];
export const CLI_START = [process.execPath, join(PROJECT, 'dist', 'src', 'cli', 'main.js')];
export const NPM_START = ['npm', 'start'];

/** A build may wait for another one on a busy machine. */
export const BUILD_TIMEOUT_MS = 200_000;
const DEADLINE_MS = 50_000;
/** Polls take processor time from what they wait for. */
const FIRST_POLLS_MS = 10;
const LONGEST_POLL_MS = 100;

type Environment = Readonly<Record<string, string>>;

export interface Outcome {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BuiltService {
  readonly pid: number;
  readonly baseUrl: string;
  stdout(): string;
  stderr(): string;
  pressCtrlC(): void;
  kill(signal: NodeJS.Signals): void;
  ended(): Promise<Outcome>;
  stop(): Promise<Outcome>;
}

const running = new Set<ChildProcess>();

export async function ensureBuild(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(PROJECT, 'scripts', 'build-if-stale.mjs')]);
}

export function runCli(
  parameters: readonly string[],
  environment: Environment,
  cli: readonly string[] = CLI_START,
): Promise<Outcome> {
  return endOf(start([...cli, ...parameters], environment));
}

export const runService = (environment: Environment, wrapper: readonly string[] = []): Promise<Outcome> =>
  endOf(start([...wrapper, ...NODE_START], environment));

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

export async function killLeftovers(): Promise<void> {
  for (const child of running) child.kill('SIGKILL');
  await eventually(() => running.size === 0);
}

export async function eventually<Value>(
  check: () => Value | undefined | null | false | Promise<Value | undefined | null | false>,
): Promise<Value> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  for (let pollMs = FIRST_POLLS_MS; ; pollMs = Math.min(1.3 * pollMs, LONGEST_POLL_MS)) {
    const response = await check();
    if (response !== undefined && response !== null && response !== false) return response;
    if (performance.now() > deadlineMs) throw new Error(`waited ${DEADLINE_MS} ms in vain`);
    await pause(pollMs);
  }
}

export async function readCompanionPids(dataDir: string): Promise<{ postgres: number; sandbox: number }> {
  const { pid: postgres } = await readPostmaster(dataDir);
  return { postgres, sandbox: (await readSandboxAddress(dataDir)).pid };
}

export async function readPostmaster(dataDir: string): Promise<{ pid: number; port: number }> {
  const text = await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8');
  const [pid = 0, , , port = 0] = text.split('\n').map(Number);
  return { pid, port };
}

export async function readSandboxAddress(
  dataDir: string,
): Promise<{ pid: number; baseUrl: string; controlUrl: string; controlSecret: string; apiKey: string }> {
  return JSON.parse(await readFile(join(dataDir, 'sandbox', 'address.json'), 'utf8'));
}

export const SHIPPED_NODE_OPTIONS = '--max-old-space-size=192 --max-semi-space-size=8';

export async function residentMb({ pid }: BuiltService): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

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

export async function groupOf(leader: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,pgid=']);
  return [...stdout.matchAll(/(\d+) +(\d+)/g)].flatMap(([, pid, group]) =>
    Number(group) === leader ? [Number(pid)] : [],
  );
}

interface Started {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly closed: Promise<unknown>;
}

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

/** The test's timeout bounds the wait. */
async function endOf({ child, output, closed }: Started): Promise<Outcome> {
  await closed;
  return { code: child.exitCode ?? child.signalCode, ...output };
}
