import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ROOT_UID = 0;
const SERVER_USER = 'postgres';
const UNPRIVILEGED_USER = 'nobody';
/** Finds tools such as useradd even if the user's PATH lacks sbin. */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

const ENTER = 1;

export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
  readonly isSelf: boolean;
}

/**
 * Returns the user to run PostgreSQL as. PostgreSQL refuses to run as root. Under root, this is the owner of
 * the data directory or, if there is no data yet, an unprivileged user, usually `postgres`.
 * @throws Error if there is no such user, or if that user does not own the data directory
 */
export async function getServerAccount(
  data: { path: string; owner: Stats } | null,
  onNote: (line: string) => void,
): Promise<ServerAccount> {
  const self = process.geteuid?.();
  const gid = process.getegid?.();
  if (self === undefined || gid === undefined) {
    throw new Error('The embedded PostgreSQL does not run on this system; set DATABASE_URL.');
  }
  if (self !== ROOT_UID) {
    if (data !== null && data.owner.uid !== self) {
      throw new Error(
        `${data.path} belongs to another user (uid ${data.owner.uid}): start as that user, or set DATA_DIR.`,
      );
    }
    return { uid: self, gid, isSelf: true };
  }
  if (data === null) {
    return { ...(await getUnprivilegedUser(onNote)), isSelf: false };
  }
  if (data.owner.uid === ROOT_UID) {
    throw new Error(
      `${data.path} belongs to root, but PostgreSQL does not run as root: change its owner back with ` +
        'chown -R.',
    );
  }
  return { uid: data.owner.uid, gid: data.owner.gid, isSelf: false };
}

export function runAs(account: ServerAccount): { uid?: number; gid?: number } {
  return account.isSelf ? {} : { uid: account.uid, gid: account.gid };
}

/** Checks the modes of the directory and all its parents. */
export async function canEnter(account: ServerAccount, directory: string): Promise<boolean> {
  for (let path = await realpath(directory); ; path = dirname(path)) {
    if (!(await mayEnter(account, path))) return false;
    if (path === dirname(path)) return true;
  }
}

/** Checks only the directory's own mode. */
export async function mayEnter(account: ServerAccount, path: string): Promise<boolean> {
  if (account.isSelf) {
    return access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
  }
  // Check the mode instead of calling access(), which always succeeds because this process is root.
  const entry = await stat(path);
  const shift = entry.uid === account.uid ? 6 : entry.gid === account.gid ? 3 : 0;
  return ((entry.mode >> shift) & ENTER) !== 0;
}

async function getUnprivilegedUser(onNote: (line: string) => void): Promise<{ uid: number; gid: number }> {
  const existing = await findUser(SERVER_USER);
  if (existing !== null) return existing;
  try {
    await runSystemTool('groupadd', ['--system', '--force', SERVER_USER]);
    const home = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
    await runSystemTool('useradd', ['--system', '--gid', SERVER_USER, ...home, SERVER_USER]);
    onNote(`Created the system user ${SERVER_USER}, because PostgreSQL does not run as root.`);
  } catch {
    // Ignore the failure: either the tools are missing, or another process has just created the user.
  }
  const user = (await findUser(SERVER_USER)) ?? (await findUser(UNPRIVILEGED_USER));
  if (user === null) {
    throw new Error(
      `PostgreSQL does not run as root, and the user ${SERVER_USER} could not be created: ` +
        'create it, or set DATABASE_URL.',
    );
  }
  return user;
}

async function findUser(name: string): Promise<{ uid: number; gid: number } | null> {
  try {
    const [uid, gid] = await Promise.all([
      runSystemTool('id', ['-u', name]),
      runSystemTool('id', ['-g', name]),
    ]);
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    return null;
  }
}

async function runSystemTool(tool: string, parameters: string[]): Promise<string> {
  return (await run(tool, parameters, { env: { PATH: SYSTEM_PATH, LC_ALL: 'C' } })).stdout;
}
