import { spawn } from 'node:child_process';
import { mkdir, open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../common';
import type { Environment } from '../config';
import { findAddress, isAnswering, requestLease, type SandboxAddress, setProfile } from './sandbox-control';
import { isAlive } from './system';

const SANDBOX_PROGRAM = join(__dirname, '..', 'sandbox', 'main.js');
/** The sandbox's exit code when another process serves the directory already. */
const EXIT_ALREADY_RUNNING = 3;

const JOIN_TIMEOUT_MS = 30_000;
const POLL_MS = 50;
const REJOIN_RETRY_MS = 1000;
/** A sandbox whose last user has left removes its address at once and ends soon after. */
const END_NOTICE_MS = 300;
const END_TIMEOUT_MS = 2000;
const BEAT_MS = 5000;
/** One missed beat may be a pause of this process. */
const HUNG_AFTER_BEATS = 2;

/** The stand-in provider on this machine, in a process of its own. */
export interface LocalSandbox {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Ends the use. When the last user releases the sandbox, it ends. */
  release(): Promise<void>;
}

export interface LocalSandboxOptions {
  /** Where the sandbox keeps its state. All users of a directory share one sandbox. */
  directory: string;
  /** Also applied to a sandbox that is already running. Undefined: its profile stays. */
  profile?: Environment['local']['sandboxProfile'];
  /** Receives single lines for the user when there is trouble. */
  onNote: (line: string) => void;
  /** The compiled program of the sandbox. */
  program?: string;
}

/** The sandbox runs for as long as the answer stays open. */
interface Lease {
  readonly address: SandboxAddress;
  readonly answer: IncomingMessage;
}

/**
 * Joins the sandbox of a directory, or starts one. One that dies or hangs in use is replaced on its port.
 *
 * @throws Error with one line for the user, without the key
 */
export async function acquireLocalSandbox(options: LocalSandboxOptions): Promise<LocalSandbox> {
  const lease = await takeLease(options);
  const use = new SandboxUse(options, lease);
  const { baseUrl, apiKey } = lease.address;
  return { baseUrl, apiKey, release: () => use.release() };
}

/** Holds the lease and takes it again whenever it is lost. */
class SandboxUse {
  private isReleased = false;
  private restoring = Promise.resolve();

  constructor(
    private readonly options: LocalSandboxOptions,
    private lease: Lease,
  ) {
    this.hold(lease);
  }

  async release(): Promise<void> {
    this.isReleased = true;
    await this.restoring;
    // Asked while the lease is held: a sandbox that hangs does not notice that its last user leaves.
    if (!(await isAnswering(this.lease.address))) endHung(this.lease);
    this.lease.answer.destroy();
    await untilEnded(this.options.directory, this.lease.address);
  }

  private hold(lease: Lease): void {
    this.lease = lease;
    let missedBeats = 0;
    const beat = async (): Promise<void> => {
      missedBeats = (await isAnswering(lease.address)) ? 0 : missedBeats + 1;
      if (missedBeats >= HUNG_AFTER_BEATS) endHung(lease);
    };
    const heart = setInterval(() => void beat(), BEAT_MS).unref();
    lease.answer.once('close', () => {
      clearInterval(heart);
      const reason = missedBeats < HUNG_AFTER_BEATS ? 'has ended unexpectedly' : 'did not answer';
      if (!this.isReleased) this.restoring = this.restore(lease.address, reason);
    });
  }

  private async restore(lost: SandboxAddress, reason: string): Promise<void> {
    const { onNote } = this.options;
    onNote(`The sandbox provider ${reason}; starting it again.`);
    let trouble = '';
    while (!this.isReleased) {
      try {
        const lease = await takeLease(this.options, new URL(lost.baseUrl).port);
        if (lease.address.baseUrl !== lost.baseUrl) {
          onNote('The sandbox provider could not get its port back: start this process again.');
        }
        this.hold(lease);
        return;
      } catch (error) {
        if (trouble !== messageOf(error)) {
          trouble = messageOf(error);
          onNote(trouble);
        }
        await pause(REJOIN_RETRY_MS);
      }
    }
  }
}

/** While its lease is open the process exists, so its number cannot belong to another. */
function endHung({ address, answer }: Lease): void {
  if (answer.destroyed) return;
  try {
    process.kill(address.pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

async function takeLease(options: LocalSandboxOptions, preferredPort?: string): Promise<Lease> {
  const deadlineMs = performance.now() + JOIN_TIMEOUT_MS;
  let port = preferredPort;
  while (performance.now() < deadlineMs) {
    const lease = await findLease(options);
    if (lease !== null) return lease;
    // No sandbox runs, or one is ending: a new one then exits because the directory is still in use.
    const failure = await startSandbox(options, port);
    if (failure !== null) {
      if (port === undefined) throw new Error(failure);
      port = undefined;
    }
    await pause(POLL_MS);
  }
  throw new Error(`The sandbox provider did not become ready. See ${logFileIn(options.directory)}`);
}

async function findLease({ directory, profile }: LocalSandboxOptions): Promise<Lease | null> {
  const address = await findAddress(directory);
  const answer = address === null ? null : await requestLease(address);
  if (address === null || answer === null) return null;
  if ((await findAddress(directory))?.pid !== address.pid) {
    // The sandbox was already ending when it granted the lease.
    answer.destroy();
    return null;
  }
  const status = profile === undefined ? 200 : await setProfile(address, profile);
  if (status === 200) {
    return { address, answer };
  }
  answer.destroy();
  if (status === null) return null;
  throw new Error(`The sandbox provider that is running does not know the profile ${profile}: end it first.`);
}

/**
 * Starts the sandbox in a session of its own, which no Ctrl-C in a terminal reaches: it ends with its last
 * lease. Resolves with null when it listens or another process was faster, otherwise with what went wrong.
 */
async function startSandbox(
  { directory, program = SANDBOX_PROGRAM }: LocalSandboxOptions,
  port: string | undefined,
): Promise<string | null> {
  // Others use the parent directory, too: it must not get the sandbox's mode.
  await mkdir(dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const log = await open(logFileIn(directory), 'a', 0o600);
  try {
    const options = [
      '--directory',
      directory,
      '--until-unused',
      ...(port === undefined ? [] : ['--port', port]),
    ];
    const sandbox = spawn(process.execPath, [program, ...options], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    sandbox.unref();
    const end = new AbortController();
    sandbox.once('error', (error) => end.abort(error.message));
    sandbox.once('exit', (code, signal) => end.abort(code ?? signal));
    while (!end.signal.aborted) {
      if ((await findAddress(directory))?.pid === sandbox.pid) return null;
      await pause(POLL_MS);
    }
    return end.signal.reason === EXIT_ALREADY_RUNNING
      ? null
      : `The sandbox provider did not start (${String(end.signal.reason)}). See ${logFileIn(directory)}`;
  } finally {
    await log.close();
  }
}

async function untilEnded(directory: string, { pid }: SandboxAddress): Promise<void> {
  const startMs = performance.now();
  while (isAlive(pid) && performance.now() < startMs + END_TIMEOUT_MS) {
    const isStaying =
      (await findAddress(directory))?.pid === pid && performance.now() > startMs + END_NOTICE_MS;
    if (isStaying) return;
    await pause(POLL_MS);
  }
}

function logFileIn(directory: string): string {
  return join(directory, 'sandbox.log');
}
