import 'reflect-metadata';
import { outlineOf, readOutline, runOutline, storeOutline } from './outline';

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const outline = readOutline();
  let code = outline && runOutline(outline, words);
  if (code === undefined) {
    const { createCli, runCommand } = await import('./cli.js');
    if (!outline) storeOutline(outlineOf(createCli()));
    code = await runCommand(words);
  }
  // Do not overwrite with 0: the `audit` command sets its own exit code.
  if (code !== 0) process.exitCode = code;
}

void main();
