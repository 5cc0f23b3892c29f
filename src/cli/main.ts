import 'reflect-metadata';
import { CommanderError } from 'commander';
import { failureLine } from '../failure-line';
import { createCli } from './cli';

createCli()
  .parseAsync(process.argv)
  .catch((error: unknown) => {
    // commander has said what is wrong with the arguments by itself.
    if (!(error instanceof CommanderError)) process.stderr.write(`${failureLine(error)}\n`);
    process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
  });
