import { Command, CommanderError } from 'commander';
import { failureLine } from '../common';
import { COMMANDS, GROUPS } from './commands';
import { printError } from './run';

export function createCli(): Command {
  const cli = new Command('cli')
    .description('Administration of the proxy rental service. Prints JSON.')
    // Prints Commander's errors about arguments, with suggestions, on one line.
    .configureOutput({ outputError: (text) => printError(text.trim().replaceAll('\n', ' ')) })
    .exitOverride();
  for (const [name, description] of Object.entries(GROUPS)) cli.command(name).description(description);
  for (const add of COMMANDS) add(cli);
  return cli;
}

/** Runs a command. Prints a refusal's reason to standard error. @returns the exit code */
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
