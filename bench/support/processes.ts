import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export const PROJECT = join(__dirname, '..', '..', '..');
const BUILT = join(__dirname, '..', '..', 'src');
const SERVICE = join(BUILT, 'main.js');
const SANDBOX = join(BUILT, 'sandbox', 'main.js');

const SHOWN_CHARACTERS = 2000;

export interface RunningProgram {
  /** Asks it to end, and waits until it has. */
  readonly stop: () => Promise<void>;
}

export interface RunningService extends RunningProgram {
  readonly baseUrl: string;
}

/** One replica of the built service, on a free port. */
export async function startService(environment: Readonly<Record<string, string>>): Promise<RunningService> {
  const program = await startProgram(
    SERVICE,
    [],
    { PORT: '0', ...environment },
    /^Listening on\s+(http:\S+)$/m,
  );
  return { baseUrl: program.said, stop: program.stop };
}

/** The sandbox, which keeps its state and its address in that directory. */
export function startSandboxProcess(directory: string): Promise<RunningProgram> {
  return startProgram(SANDBOX, ['--directory', directory, '--port', '0'], {}, /^Sandbox upstream at (\S+),/m);
}

/** With nothing of this process's environment. Resolves when it has said that it is ready. */
async function startProgram(
  program: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<RunningProgram & { readonly said: string }> {
  const child = spawn(process.execPath, [program, ...parameters], {
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
    child.once('close', (code) => reject(new Error(`${program} has ended (${code}): ${output}`)));
  });
  return {
    said,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
