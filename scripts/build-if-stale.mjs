// Builds dist/ when a source has changed since the last build, or with --always. Writes to stderr alone,
// because the standard output belongs to the command that runs next.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Compiles as Jest does, by .swcrc, in a second. It checks no types: `npm run check:types` does. */
const COMPILER = '@swc/core';
const DIRECTORIES = ['src', 'bench', 'drills'];
const FILES = ['ormconfig.ts', '.swcrc', 'package-lock.json'];
/** Its time is that of the start of the build, so that later changes count as newer. */
const STAMP = 'built';
const LOCK = 'node_modules/.build-lock';
const LOCK_TIMEOUT_MS = 60_000;
const LOCK_POLL_MS = 100;
const ALWAYS = process.argv.includes('--always');

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));
try {
  if (ALWAYS || !isFresh()) process.exitCode = await buildAlone();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

/** Compares change times, which copies that keep the modification time update, too. */
function isFresh() {
  const built = statSync(join('dist', STAMP), { throwIfNoEntry: false });
  const main = statSync('dist/src/main.js', { throwIfNoEntry: false });
  if (!built || !main) return false;
  return sources().every((path) => statSync(path).ctimeMs < built.mtimeMs);
}

/** Directories are included: their time changes when a file is removed. */
function sources() {
  const entries = DIRECTORIES.flatMap((directory) =>
    readdirSync(directory, { recursive: true }).map((name) => join(directory, name)),
  );
  return [...FILES, ...DIRECTORIES, ...entries.filter((path) => !path.endsWith('.spec.ts'))];
}

/** Of several that start at once, one builds and the others wait for it. */
async function buildAlone() {
  if (!existsSync(join('node_modules', COMPILER))) {
    throw new Error('The packages that build the service are not installed: run npm ci first.');
  }
  const deadlineMs = Date.now() + LOCK_TIMEOUT_MS;
  while (!takeLock()) {
    if (Date.now() > deadlineMs) {
      throw new Error(`Another build does not end. If there is none, remove ${LOCK}`);
    }
    await pause(LOCK_POLL_MS);
  }
  try {
    return !ALWAYS && isFresh() ? 0 : await build();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

function takeLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (!isLockHeld()) rmSync(LOCK, { force: true });
  return false;
}

function isLockHeld() {
  try {
    const pid = Number(readFileSync(LOCK, 'utf8'));
    // The file is empty for a moment after its creation.
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The files of a directory, or the file itself, without tests and declarations. */
function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(spec|d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Compiles a file with its source map, or copies it when it is not TypeScript. */
function compileTo(directory, { transformFile }) {
  return async (path) => {
    const target = join(directory, path).replace(/\.ts$/, '.js');
    mkdirSync(dirname(target), { recursive: true });
    if (target === join(directory, path)) return copyFileSync(path, target);
    const sourceFileName = relative(dirname(target), path);
    const { code, map } = await transformFile(path, { sourceFileName });
    writeFileSync(target, `${code}\n//# sourceMappingURL=${basename(target)}.map`);
    writeFileSync(`${target}.map`, map);
  };
}

/** Builds next to dist/ and swaps, so that a failed build spoils nothing and no process sees half a build. */
async function build() {
  const startedAt = new Date();
  console.error('Building the service …');
  for (const directory of ['dist-next', 'dist-old']) rmSync(directory, { recursive: true, force: true });
  const compile = compileTo('dist-next', await import(COMPILER));
  // The image has the service alone.
  const paths = [...DIRECTORIES, 'ormconfig.ts'].filter((path) => existsSync(path));
  const results = await Promise.allSettled(paths.flatMap(filesBelow).map(compile));
  const failures = results.filter(({ status }) => status === 'rejected');
  for (const { reason } of failures) console.error(String(reason));
  if (failures.length > 0) return 1;
  writeFileSync(join('dist-next', STAMP), '');
  utimesSync(join('dist-next', STAMP), startedAt, startedAt);
  if (existsSync('dist')) renameSync('dist', 'dist-old');
  renameSync('dist-next', 'dist');
  rmSync('dist-old', { recursive: true, force: true });
  return 0;
}
