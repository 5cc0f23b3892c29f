import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root of the repository, from the sources as well as from dist/. */
export const PROJECT = findProject(__dirname);

export const BUILT_SERVICE = join(PROJECT, 'dist', 'src', 'main.js');
export const BUILT_CLI = join(PROJECT, 'dist', 'src', 'cli', 'main.js');
export const BUILT_SANDBOX = join(PROJECT, 'dist', 'src', 'sandbox', 'main.js');

function findProject(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : findProject(dirname(directory));
}
