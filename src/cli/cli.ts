import { Command, CommanderError } from 'commander';
import { failureLine } from '../common';
import { addBalance } from './commands/balance';
import { addOrders } from './commands/orders';
import { addOrphans } from './commands/orphans';
import { addPrices } from './commands/prices';
import { addSystem } from './commands/system';
import { addTokens } from './commands/tokens';
import { addUsers } from './commands/users';
import { complain } from './run';

export function createCli(): Command {
  const cli = new Command('cli')
    .description('Administration of the proxy rental service. Prints JSON.')
    // Whatever commander says of an argument, a suggestion included, on one line.
    .configureOutput({ outputError: (text) => complain(text.trim().replaceAll('\n', ' ')) })
    .exitOverride();
  for (const add of [addUsers, addTokens, addBalance, addOrders, addOrphans, addPrices, addSystem]) add(cli);
  return cli;
}

/** Says why a command is refused. @returns the exit code */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    await createCli().parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    // commander has said what is wrong with the arguments by itself.
    if (error instanceof CommanderError) return error.exitCode;
    complain(failureLine(error));
    return 1;
  }
}
