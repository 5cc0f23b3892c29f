import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getServerAccount, type ServerAccount } from '../../src/local/postgres/embedded-account';

export function databaseAccount(): Promise<ServerAccount> {
  return getServerAccount(null, () => undefined);
}

export interface DrillDirectory {
  readonly path: string;
  create(name: string, owner?: ServerAccount): Promise<string>;
  remove(): Promise<void>;
}

export async function closeAll(closers: (() => Promise<unknown>)[]): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close();
}

export async function createDrillDirectory(name: string): Promise<DrillDirectory> {
  const path = await mkdtemp(join(tmpdir(), `proxy-rental-drill-${name}-`));
  await chmod(path, 0o755);
  return {
    path,
    async create(part, owner) {
      const directory = join(path, part);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (owner && !owner.isSelf) await chown(directory, owner.uid, owner.gid);
      return directory;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
