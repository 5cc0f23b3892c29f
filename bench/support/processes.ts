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
  /** Sends SIGTERM and waits for the exit. */
  readonly stop: () => Promise<void>;
}

export interface RunningService extends RunningProgram {
  readonly baseUrl: string;
}

/**
 * Starts one replica of the built service on a free port.
 *
 * @param nodeOptions options of Node.js itself
 */
export function startService(
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<RunningService> {
  return startServer(SERVICE, environment, nodeOptions);
}

/** Starts a server that prints `Listening on http://…`, on a free port. */
export async function startServer(
  program: string,
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<RunningService> {
  const { match, ...running } = await startProgram(
    [...nodeOptions, program],
    { PORT: '0', ...environment },
    /^Listening on\s+(http:\S+)$/m,
  );
  return { ...running, baseUrl: match };
}

/** The options of Node.js in `npm run start:prod`. */
export async function productionOptions(): Promise<string[]> {
  const manifest: { scripts: Record<string, string> } = JSON.parse(
    await readFile(join(PROJECT, 'package.json'), 'utf8'),
  );
  return readNodeOptions(manifest.scripts['start:prod'] ?? '');
}

/**
 * Modules that the script preloads tie the service to npm and are left out: the bench stops it itself.
 *
 * @param script `node [options] program`, as in package.json
 */
export function readNodeOptions(script: string): string[] {
  const words = script.replaceAll(/ --require \S+/g, '').split(/\s+/);
  const options = words.slice(words.indexOf('node') + 1, -1);
  if (!words.includes('node') || options.some((option) => !option.startsWith('-'))) {
    throw new Error(`start:prod is not "node [options] program": ${script}`);
  }
  return options;
}

/** Starts a sandbox that keeps its state and its address in the directory. */
export function startSandboxProcess(directory: string): Promise<RunningProgram> {
  return startProgram([SANDBOX, '--directory', directory, '--port', '0'], {}, /^Sandbox provider at (\S+),/m);
}

/** Starts a program with the given environment only. Resolves when its output matches `ready`. */
async function startProgram(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<RunningProgram & { readonly match: string }> {
  const child = spawn(process.execPath, parameters, {
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  // An interrupted bench exits without calling stop().
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  let output = '';
  const match = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-SHOWN_CHARACTERS);
        const found = ready.exec(output)?.[1];
        if (found !== undefined) resolve(found);
      });
    }
    child.once('error', reject);
    child.once('close', (code) =>
      reject(new Error(`${parameters.join(' ')} exited with ${code}: ${output}`)),
    );
  });
  return {
    match,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
