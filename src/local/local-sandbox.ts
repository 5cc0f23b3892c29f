import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { AppConfig } from '../config';
import { isAlive } from './system';

/** No file extension, because `npm run start:dev` runs TypeScript. */
const SANDBOX_PROGRAM = join(__dirname, '..', 'sandbox', 'main');
const EXIT_ALREADY_RUNNING = 3;

/** How long to wait for a sandbox to exit after its service was killed. */
const IN_USE_TIMEOUT_MS = 5000;
const END_TIMEOUT_MS = 2000;
const POLL_MS = 50;
const SUBSCRIBE_TIMEOUT_MS = 5000;

const addressSchema = z.object({
  pid: z.number(),
  baseUrl: z.string(),
  apiKey: z.string(),
  payments: z.object({ baseUrl: z.string(), shopId: z.string(), secretKey: z.string() }),
});
type SandboxAddress = z.infer<typeof addressSchema>;

export interface LocalSandbox extends SandboxAddress {
  release(): Promise<void>;
}

export interface LocalSandboxOptions {
  directory: string;
  onNote: (line: string) => void;
  /** Ports that the sandbox must not use, because the service will listen on them. */
  exceptPorts?: readonly number[];
  program?: string;
}

/** Checks that the process is alive, because a killed sandbox leaves its address file behind. */
export async function findLocalSandbox(directory: string): Promise<SandboxAddress | null> {
  try {
    const text = await readFile(join(directory, 'address.json'), 'utf8');
    const address = addressSchema.parse(JSON.parse(text));
    return isAlive(address.pid) ? address : null;
  } catch {
    return null;
  }
}

/**
 * Starts a sandbox that ends when its input closes, which happens even if this process is killed. The sandbox
 * has its own session, so Ctrl-C does not reach it.
 * @throws Error whose message is a single line for the user, without the key
 */
export async function startLocalSandbox(options: LocalSandboxOptions): Promise<LocalSandbox> {
  const { directory, onNote } = options;
  // Create the shared parent first, because it must not get the mode of the sandbox's directory.
  await mkdir(dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const deadlineMs = performance.now() + IN_USE_TIMEOUT_MS;
  for (;;) {
    const child = await spawnSandbox(options);
    const address = await untilListening(child, directory);
    if (address !== null) {
      const end = new AbortController();
      child.once('exit', () => {
        if (!end.signal.aborted) onNote(`The sandbox provider has stopped. See ${logFileIn(directory)}`);
      });
      return { ...address, release: () => stop(child, end) };
    }
    if (child.exitCode !== EXIT_ALREADY_RUNNING) {
      const how = child.exitCode ?? child.signalCode ?? 'no such program';
      throw new Error(`The sandbox provider did not start (${how}). See ${logFileIn(directory)}`);
    }
    if (performance.now() > deadlineMs) {
      throw new Error(
        `Another process is using the sandbox in ${directory}: set PX6_BASE_URL and PX6_API_KEY to the ` +
          'values in its address.json to share it, or DATA_DIR to start another one.',
      );
    }
    await pause(POLL_MS);
  }
}

async function spawnSandbox({
  directory,
  exceptPorts = [],
  program = SANDBOX_PROGRAM,
}: LocalSandboxOptions): Promise<ChildProcess> {
  const log = await open(logFileIn(directory), 'a', 0o600);
  const except = exceptPorts.map((port) => `--except-port=${port}`);
  try {
    const args = [program, '--directory', directory, '--until-input-ends', ...except];
    const child = spawn(process.execPath, args, {
      detached: true,
      stdio: ['pipe', log.fd, log.fd],
    });
    child.on('error', () => undefined);
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/** Waits until the sandbox listens. Returns null if it has ended instead. */
async function untilListening(child: ChildProcess, directory: string): Promise<SandboxAddress | null> {
  for (;;) {
    const address = await findLocalSandbox(directory);
    if (address !== null && address.pid === child.pid) return address;
    if (child.pid === undefined || hasEnded(child)) return null;
    await pause(POLL_MS);
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

async function stop(child: ChildProcess, end: AbortController): Promise<void> {
  end.abort();
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS);
  child.stdin?.destroy();
  await ended;
  clearTimeout(timer);
}

function logFileIn(directory: string): string {
  return join(directory, 'sandbox.log');
}

/** Ignores failures: without the subscription, payments are still found when their deposits are read. */
export async function subscribeToSandbox({ payments }: AppConfig, serviceUrl: string): Promise<void> {
  const { provider, baseUrl, shopId = '', secretKey = '' } = payments;
  if (provider !== 'sandbox') return;
  await fetch(`${baseUrl}/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}` },
    body: JSON.stringify({ url: `${serviceUrl}/payments/sandbox/notifications` }),
    signal: AbortSignal.timeout(SUBSCRIBE_TIMEOUT_MS),
  }).catch(() => undefined);
}
