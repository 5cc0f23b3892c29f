import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Daemon, type DaemonOptions, startDaemon } from './daemon';
import { LOOPBACK } from './ports';
import { BUILT_SANDBOX, BUILT_SERVICE } from './project';

/** One replica of the built service. */
export interface BuiltReplica extends Daemon {
  readonly baseUrl: string;
}

const LISTENING = /^Listening on\s+(http:\S+)$/m;

/**
 * Starts the built service, as `npm run start:prod` does. Returns when it has printed its address.
 *
 * @param environment with `PORT`, or it takes a free one
 */
export async function startReplica(
  environment: Readonly<Record<string, string>>,
  options: Pick<DaemonOptions, 'name' | 'timeoutMs'> = {},
): Promise<BuiltReplica> {
  let baseUrl = '';
  const daemon = await startDaemon({
    name: 'the service',
    program: process.execPath,
    parameters: ['--max-old-space-size=192', '--max-semi-space-size=8', BUILT_SERVICE],
    environment: { PORT: '0', HOST: LOOPBACK, ...environment },
    isReady: (output) => {
      baseUrl = LISTENING.exec(output)?.[1] ?? '';
      return baseUrl !== '';
    },
    ...options,
  });
  return { ...daemon, baseUrl };
}

export interface SandboxAddress {
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly controlSecret: string;
  readonly apiKey: string;
}

/** Starts the sandbox provider with its state in a directory, where it goes on after a restart. */
export async function startSandboxProcess(directory: string): Promise<Daemon & { address: SandboxAddress }> {
  const daemon = await startDaemon({
    name: 'the sandbox',
    program: process.execPath,
    parameters: [BUILT_SANDBOX, '--directory', directory, '--port', '0', '--no-rate-limit'],
    isReady: (output) => /^Sandbox provider at \S+,/m.test(output),
  });
  const address: SandboxAddress = JSON.parse(await readFile(join(directory, 'address.json'), 'utf8'));
  return { ...daemon, address };
}
