import 'reflect-metadata';
import { CommanderError } from 'commander';
import { createCli } from './cli';

/** Errors of the database that are better said in our words. */
const CONNECTION_ERRORS = new Set(['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN']);

function clearLine(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const code = (error as { code?: string }).code;
  if (code && CONNECTION_ERRORS.has(code)) return 'The database cannot be reached';
  return error.message;
}

createCli()
  .parseAsync(process.argv)
  .catch((error: unknown) => {
    // commander has said what is wrong with the arguments by itself.
    if (!(error instanceof CommanderError)) process.stderr.write(`${clearLine(error)}\n`);
    process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
  });
