import { type Command, CommanderError } from 'commander';
import { failureLine } from '../common';
import { COMMANDS, COMMAND_GROUPS } from './commands';
import { printError, emptyCli } from './outline';

export function createCli(): Command {
  const cli = emptyCli();
  for (const [name, description] of Object.entries(COMMAND_GROUPS)) {
    cli.command(name).description(description);
  }
  for (const add of COMMANDS) add(cli);
  return cli;
}

/** @returns the exit code */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    await createCli().parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error.
    if (error instanceof CommanderError) return error.exitCode;
    printError(failureLine(error));
    return 1;
  }
}
