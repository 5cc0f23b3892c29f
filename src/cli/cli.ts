import { Command, CommanderError } from 'commander';
import { failureLine } from '../common';
import { COMMANDS, GROUPS } from './commands';
import { complain } from './run';

export function createCli(): Command {
  const cli = new Command('cli')
    .description('Administration of the proxy rental service. Prints JSON.')
    // Complaints of commander about arguments stand on one line, suggestions included.
    .configureOutput({ outputError: (text) => complain(text.trim().replaceAll('\n', ' ')) })
    .exitOverride();
  for (const [name, description] of Object.entries(GROUPS)) cli.command(name).description(description);
  for (const add of COMMANDS) add(cli);
  return cli;
}

/** Runs a command; one line on standard error says why it is refused. @returns the exit code */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    await createCli().parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    // commander has complained about the arguments itself.
    if (error instanceof CommanderError) return error.exitCode;
    complain(failureLine(error));
    return 1;
  }
}
