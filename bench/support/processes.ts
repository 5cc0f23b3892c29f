import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const PROJECT = join(__dirname, '..', '..', '..');
const BUILT = join(__dirname, '..', '..', 'src');
const SERVICE = join(BUILT, 'main.js');
const SANDBOX = join(BUILT, 'sandbox', 'main.js');

const SHOWN_CHARACTERS = 2000;

export interface RunningProgram {
  readonly pid: number;
  /** Asks it to end, and waits until it has. */
  readonly stop: () => Promise<void>;
}

export interface RunningService extends RunningProgram {
  readonly baseUrl: string;
}

/**
 * One replica of the built service, on a free port.
 *
 * @param nodeOptions for Node.js itself
 */
export function startService(
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<RunningService> {
  return startServer(SERVICE, environment, nodeOptions);
}

/** Any server that prints `Listening on http://…`, on a free port. */
export async function startServer(
  program: string,
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<RunningService> {
  const { said, ...running } = await startProgram(
    [...nodeOptions, program],
    { PORT: '0', ...environment },
    /^Listening on\s+(http:\S+)$/m,
  );
  return { ...running, baseUrl: said };
}

/** What `npm run start:prod` gives Node.js before the program. */
export async function productionOptions(): Promise<string[]> {
  const manifest: { scripts: Record<string, string> } = JSON.parse(
    await readFile(join(PROJECT, 'package.json'), 'utf8'),
  );
  return readNodeOptions(manifest.scripts['start:prod'] ?? '');
}

/** @param script `node [options] program`, as it stands in package.json */
export function readNodeOptions(script: string): string[] {
  const words = script.split(/\s+/);
  const options = words.slice(words.indexOf('node') + 1, -1);
  if (!words.includes('node') || options.some((option) => !option.startsWith('-'))) {
    throw new Error(`start:prod is not "node [options] program": ${script}`);
  }
  return options;
}

/** The sandbox, which keeps its state and its address in that directory. */
export function startSandboxProcess(directory: string): Promise<RunningProgram> {
  return startProgram([SANDBOX, '--directory', directory, '--port', '0'], {}, /^Sandbox provider at (\S+),/m);
}

/** With nothing of this process's environment. Resolves when it has said that it is ready. */
async function startProgram(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<RunningProgram & { readonly said: string }> {
  const child = spawn(process.execPath, parameters, {
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  // An interrupted bench ends without asking.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  let output = '';
  const said = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-SHOWN_CHARACTERS);
        const match = ready.exec(output)?.[1];
        if (match !== undefined) resolve(match);
      });
    }
    child.once('error', reject);
    child.once('close', (code) =>
      reject(new Error(`${parameters.join(' ')} has ended (${code}): ${output}`)),
    );
  });
  return {
    said,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
