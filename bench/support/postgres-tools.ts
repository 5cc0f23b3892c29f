import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';

const DEBIAN_SERVERS = '/usr/lib/postgresql';
const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];

/** Path of a PostgreSQL client program, the newest version first; null when it is not installed. */
export async function findPostgresProgram(name: 'psql' | 'pgbench'): Promise<string | null> {
  const versions = await readdir(DEBIAN_SERVERS).catch(() => []);
  const newestFirst = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_SERVERS, version, 'bin'));
  const directories = [...newestFirst, ...SYSTEM_PATH];
  const directory = directories.find((one) => existsSync(join(one, name)));
  return directory === undefined ? null : join(directory, name);
}

export interface ProgramRun {
  readonly stdout: string;
  /** Its last 2,000 characters. */
  readonly stderr: string;
  readonly seconds: number;
  readonly bytes: number;
  /** From the start of the program to its first byte of output. */
  readonly firstByteMs: number;
}

/**
 * Runs a client program against a database. The address is passed in the environment: command lines are
 * public.
 *
 * @param keep how many characters of the output are kept
 * @throws Error with the program's error output when it fails
 */
export async function runPostgresProgram(
  program: string,
  parameters: readonly string[],
  databaseUrl: string,
  keep = 100_000,
): Promise<ProgramRun> {
  const url = new URL(databaseUrl);
  const startedAtMs = performance.now();
  const child = spawn(program, parameters, {
    env: {
      PATH: SYSTEM_PATH.join(delimiter),
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGUSER: decodeURIComponent(url.username),
      PGPASSWORD: decodeURIComponent(url.password),
      PGDATABASE: url.pathname.slice(1),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  let [stdout, stderr, bytes, firstByteMs] = ['', '', 0, Number.NaN];
  child.stdout.on('data', (chunk: Buffer) => {
    if (bytes === 0) firstByteMs = performance.now() - startedAtMs;
    bytes += chunk.length;
    if (stdout.length < keep) stdout += chunk.toString();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2000)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  process.off('exit', kill);
  if (code !== 0) throw new Error(`${basename(program)} exited with ${code}: ${stderr.trim()}`);
  return { stdout, stderr, bytes, firstByteMs, seconds: (performance.now() - startedAtMs) / 1000 };
}
