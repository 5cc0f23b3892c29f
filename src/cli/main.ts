import 'reflect-metadata';
import { runCommand } from './cli';

async function main(): Promise<void> {
  const code = await runCommand(process.argv.slice(2));
  // The command `audit` sets the exit code itself.
  if (code !== 0) process.exitCode = code;
}

void main();
