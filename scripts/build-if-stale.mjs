// Builds dist/ unless it is there and made from the sources as they are. Says what it does on stderr alone: the standard output is
// the command's that runs next.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
const STAMP = 'sources.sha256';
const CACHE = join(ROOT, 'node_modules', '.cache', 'build-if-stale');
const LOCK = join(CACHE, 'lock');
const SOURCES = ['src', 'bench'];
const CONFIGURATION = /^(ormconfig\.ts|tsconfig.*\.json|nest-cli\.json|package\.json|package-lock\.json)$/;

const LOCK_TIMEOUT_MS = 180_000;
const LOCK_POLL_MS = 100;

try {
  process.exitCode = isFresh() ? 0 : await buildAlone();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function isFresh() {
  const stamp = join(DIST, STAMP);
  return (
    existsSync(join(DIST, 'src', 'main.js')) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === sourcesDigest()
  );
}

/** Of the names, sizes and times of all that the build is made from: changes with any edit, addition, removal and checkout. */
function sourcesDigest() {
  const sources = SOURCES.map((directory) => join(ROOT, directory))
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => readdirSync(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
  const configuration = readdirSync(ROOT)
    .filter((name) => CONFIGURATION.test(name))
    .map((name) => join(ROOT, name));
  const digest = createHash('sha256');
  for (const path of [...sources, ...configuration].sort((a, b) => (a < b ? -1 : 1))) {
    const { size, mtimeMs } = statSync(path);
    digest.update(`${path}\0${size}\0${mtimeMs}\n`);
  }
  return digest.digest('hex');
}

/** Of several that start at once, one builds and the others wait for it. Returns the exit code. */
async function buildAlone() {
  if (!existsSync(join(ROOT, 'node_modules', 'typescript'))) {
    throw new Error('The packages that build the service are not installed: run npm ci first.');
  }
  mkdirSync(CACHE, { recursive: true });
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  while (!takeLock()) {
    if (Date.now() > deadline) {
      throw new Error(`Another build does not end. If there is none, remove ${LOCK}`);
    }
    await pause(LOCK_POLL_MS);
  }
  try {
    return isFresh() ? 0 : build();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

function takeLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') {
      throw error;
    }
  }
  if (!isLockHeld()) {
    rmSync(LOCK, { force: true });
  }
  return false;
}

function isLockHeld() {
  try {
    const pid = Number(readFileSync(LOCK, 'utf8'));
    // The file is empty for a moment after it was created.
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Builds beside dist/ and swaps, so that a failed build spoils nothing and nobody sees half a build. */
function build() {
  const next = join(ROOT, 'dist-next');
  const old = join(ROOT, 'dist-old');
  const digest = sourcesDigest();
  console.error('Building the service, which takes some seconds …');
  const { status } = spawnSync(
    process.execPath,
    [nestCli(), 'build', '--path', relative(ROOT, writeConfiguration(next))],
    {
      cwd: ROOT,
      stdio: ['ignore', process.stderr, process.stderr],
    },
  );
  if (status !== 0) {
    rmSync(next, { recursive: true, force: true });
    return 1;
  }
  writeFileSync(join(next, STAMP), digest);
  rmSync(old, { recursive: true, force: true });
  if (existsSync(DIST)) {
    renameSync(DIST, old);
  }
  renameSync(next, DIST);
  rmSync(old, { recursive: true, force: true });
  return 0;
}

function nestCli() {
  const manifest = createRequire(import.meta.url).resolve('@nestjs/cli/package.json');
  return join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.nest);
}

function writeConfiguration(outDir) {
  const path = join(CACHE, 'tsconfig.json');
  writeFileSync(
    path,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.build.json'),
      compilerOptions: { outDir, tsBuildInfoFile: join(CACHE, 'tsbuildinfo') },
    }),
  );
  return path;
}
