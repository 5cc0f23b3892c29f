import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';

const PROJECT = join(__dirname, '..', '..');

/** What was released before the migrations of today. Change it with each release. */
const PREVIOUS_RELEASE = '752c56a6a8675e9cf9a48e0e54de33eb01585c59';

/** Whether the history has it: a shallow clone does not. */
export function hasPreviousRelease(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${PREVIOUS_RELEASE}^{commit}`], {
      cwd: PROJECT,
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

export interface PreviousRelease {
  /** The command that starts its service. */
  readonly service: readonly string[];
  /** The command of its command line. */
  readonly cli: readonly string[];
}

/**
 * Builds the previous release in a directory. It shares the packages of today, and its types are not checked
 * again: that takes a second instead of half a minute.
 */
export function buildPreviousRelease(directory: string): PreviousRelease {
  const sources = join(directory, 'sources');
  mkdirSync(sources);
  const archive = execFileSync('git', ['archive', '--format=tar', PREVIOUS_RELEASE, 'package.json', 'src'], {
    cwd: PROJECT,
    maxBuffer: 64 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', sources], { input: archive });
  symlinkSync(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
  cpSync(join(sources, 'package.json'), join(directory, 'package.json'));
  const src = join(sources, 'src');
  for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.spec.ts')) continue;
    const target = join(directory, 'dist', 'src', name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, compile(join(src, name)));
  }
  rmSync(sources, { recursive: true });
  const main = (path: string): readonly string[] => [process.execPath, join(directory, 'dist', 'src', path)];
  return { service: main('main.js'), cli: main(join('cli', 'main.js')) };
}

/** As jest does with the code of today. */
function compile(path: string): string {
  const { code } = transformSync(readFileSync(path, 'utf8'), {
    filename: path,
    swcrc: false,
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
    module: { type: 'commonjs', ignoreDynamic: true },
  });
  return code;
}
