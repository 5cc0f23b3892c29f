import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { PROJECT } from './processes';

/** What the entries of the bench share: options, progress, results and exit codes. */

export const RESULTS = join(PROJECT, 'bench', 'results');

/** Progress goes to standard error, results to standard output. */
export const progress = (line: string): void => void process.stderr.write(`${line}\n`);

/** The values of the command line's options. With `--help` the options are shown, and the program ends. */
export function parseOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options }>>['values'] {
  if (process.argv.includes('--help')) {
    for (const [name, { type, default: usual }] of Object.entries(options)) {
      process.stdout.write(`--${name}${type === 'boolean' ? '' : ` ${String(usual ?? '…')}`}\n`);
    }
    process.stdout.write('bench/README.md and the head of each entry in bench describe them.\n');
    process.exit(0);
  }
  return parseArgs({ options }).values;
}

/** @throws Error that names the option when it is not a number above 0 */
export function readPositive(option: string, text: string, { whole = false } = {}): number {
  const value = Number(text);
  if (!(value > 0) || (whole && !Number.isInteger(value))) {
    throw new Error(`--${option} must be a ${whole ? 'whole ' : ''}number above 0`);
  }
  return value;
}

/** @throws Error that names the names that do not exist, and those that do */
export function readNames<Name extends string>(
  text: string | undefined,
  known: readonly Name[],
  defaults: readonly Name[] = known,
): Name[] {
  if (text === undefined) return [...defaults];
  const names = text.split(',');
  const isKnown = (name: string): name is Name => known.some((one) => one === name);
  const unknown = names.filter((name) => !isKnown(name));
  if (unknown.length > 0) {
    throw new Error(`--only has no ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  return names.filter(isKnown);
}

export async function writeResult(directory: string, name: string, text: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, name), text);
}

/** Broken invariants fail the run; missed goals do not. */
export function reportProblems(problems: readonly string[]): void {
  for (const problem of problems) progress(`BROKEN: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}

export function run(main: () => Promise<void>): Promise<void> {
  return main().catch((error: unknown) => {
    progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  });
}
