import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError, Option } from 'commander';

/** Enough to print a command's help and to check its options. */
export interface Outline {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly options: readonly Pick<
    Option,
    'flags' | 'description' | 'mandatory' | 'argChoices' | 'defaultValue'
  >[];
  readonly commands: readonly Outline[];
}

/** Written the first time that a command of this build runs. */
const FILE = join(__dirname, 'outline.json');

export const outlineOf = (command: Command): Outline => ({
  name: command.name(),
  summary: command.summary(),
  description: command.description(),
  options: command.options.map(({ flags, description, mandatory, argChoices, defaultValue }) => ({
    flags,
    description,
    mandatory,
    ...(argChoices && { argChoices }),
    defaultValue: defaultValue as unknown,
  })),
  commands: command.commands.map(outlineOf),
});

export function readOutline(): Outline | undefined {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Outline;
  } catch {
    return undefined;
  }
}

export function storeOutline(outline: Outline): void {
  try {
    writeFileSync(`${FILE}.${process.pid}`, JSON.stringify(outline));
    renameSync(`${FILE}.${process.pid}`, FILE);
  } catch {
    // Without the file, later commands merely start more slowly.
  }
}

export const printError = (line: string): void => void process.stderr.write(`${line}\n`);

export const emptyCli = (): Command =>
  new Command('cli')
    .description('Administers the proxy rental service. Prints JSON.')
    // Print Commander's errors on one line.
    .configureOutput({ outputError: (text) => printError(text.trim().replaceAll('\n', ' ')) })
    .exitOverride();

/** @param run called instead of the command if its options are valid */
export function addOutlined(parent: Command, { commands }: Outline, run: () => void): Command {
  for (const outline of commands) {
    const command = parent.command(outline.name).summary(outline.summary).description(outline.description);
    for (const { flags, description, mandatory, argChoices, defaultValue } of outline.options) {
      const option = new Option(flags, description).default(defaultValue).makeOptionMandatory(mandatory);
      command.addOption(argChoices ? option.choices(argChoices) : option);
    }
    if (outline.commands.length > 0) addOutlined(command, outline, run);
    else command.action(run);
  }
  return parent;
}

/** Avoids loading the service for help and invalid options. @returns undefined if the command has to run */
export function runOutline(outline: Outline, words: readonly string[]): number | undefined {
  let isToRun = false;
  try {
    addOutlined(emptyCli(), outline, () => (isToRun = true)).parse(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  return isToRun ? undefined : 0;
}
