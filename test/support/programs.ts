import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export function findProgram(...names: readonly string[]): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '');
  return names
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export const findChromium = (): string | undefined =>
  findProgram('chromium', 'chromium-browser', 'google-chrome');

/** Debian's packages belong to its own Python, which need not come first on the PATH. */
export const findPython = (module: string): string | undefined =>
  ['python3', '/usr/bin/python3'].find((one) => spawnSync(one, ['-c', `import ${module}`]).status === 0);

/** Without the packages, the block is one test that says what to install. */
export function describeWith(missing: readonly string[], name: string, tests: () => void): void {
  if (missing.length === 0) describe(name, tests);
  else it.skip(`${name}: apt-get install ${missing.join(' ')}`, () => undefined);
}
