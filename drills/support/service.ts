import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Daemon, type DaemonOptions, startDaemon } from './daemon';
import { LOOPBACK } from './ports';
import { BUILT_SANDBOX, BUILT_SERVICE } from './project';

export interface BuiltReplica extends Daemon {
  readonly baseUrl: string;
}

type ServerOptions = Pick<DaemonOptions, 'name' | 'timeoutMs'>;

const PRODUCTION = ['--max-old-space-size=192', '--max-semi-space-size=8'];
const LISTENING = /^Listening on\s+(http:\S+)$/m;

/** @param environment without `PORT`, the service takes a free one */
export function startReplica(
  environment: Readonly<Record<string, string>>,
  { nodeOptions = [], ...options }: ServerOptions & { nodeOptions?: readonly string[] } = {},
): Promise<BuiltReplica> {
  const name = 'the service';
  return startServer(BUILT_SERVICE, environment, { name, ...options }, [...PRODUCTION, ...nodeOptions]);
}

export async function startServer(
  program: string,
  environment: Readonly<Record<string, string>>,
  options: ServerOptions = {},
  nodeOptions: readonly string[] = [],
): Promise<BuiltReplica> {
  let baseUrl = '';
  const daemon = await startDaemon({
    program: process.execPath,
    parameters: [...nodeOptions, program],
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
