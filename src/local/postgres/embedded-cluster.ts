import { execFile } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../common';
import { isErrorWithCode } from '../system';
import { canEnter, getServerAccount, runAs, type ServerAccount } from './embedded-account';
import { getBinaries, getInitdb } from './embedded-binaries';
import { createStagingDirectory, publish, unlessTaken } from './embedded-staging';

const run = promisify(execFile);

export const SUPERUSER = 'postgres';

/** Used if the server's user cannot enter the data directory. */
const SHARED_DIRECTORY = '/var/lib/proxy-rental-service';

/** Omits this process's variables, which could point PostgreSQL to another server or directory. */
export const CHILD_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

export interface Cluster {
  /** Contains the data, the password file, the server's log and PostgreSQL itself. */
  readonly directory: string;
  readonly dataDirectory: string;
  readonly logFile: string;
  /** Contains PostgreSQL's bin, lib and share. */
  readonly binaries: string;
  readonly account: ServerAccount;
  /** Password of the superuser. */
  readonly password: string;
  readonly onNote: (line: string) => void;
}

export const SERVICE_ROLE = 'proxy_rental_service';

export const servicePassword = ({ password }: Cluster): string =>
  createHmac('sha256', password).update(SERVICE_ROLE).digest('base64url');

/** Returns the cluster; creates it if it is missing. Several processes may call this at the same time. */
export async function getCluster(dataDir: string, onNote: (line: string) => void): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const parent = await realpath(dataDir);
  const place = join(parent, 'postgres');
  const existing = await findExisting(place);
  const account = await getServerAccount(existing, onNote);
  if (existing === null) await createCluster({ parent, place, account });
  const directory = await realpath(place);
  if (!(await canEnter(account, directory))) {
    throw new Error(
      `PostgreSQL's user (uid ${account.uid}) cannot access ${directory}, which contains its data.`,
    );
  }
  if (directory !== place) {
    onNote(`The database is stored in ${directory}, because the PostgreSQL user cannot access ${parent}.`);
  }
  return {
    directory,
    dataDirectory: dataIn(directory),
    logFile: join(directory, 'server.log'),
    binaries: await getBinaries(directory, account),
    account,
    onNote,
    password: await readFile(passwordFileIn(directory), 'utf8'),
  };
}

async function findExisting(place: string): Promise<{ path: string; owner: Stats } | null> {
  try {
    return { path: place, owner: await stat(place) };
  } catch (error) {
    if (!isErrorWithCode(error, 'ENOENT')) throw error;
  }
  const isLink = await lstat(place).then(
    () => true,
    () => false,
  );
  if (isLink) {
    throw new Error(
      `${place} points to a database that no longer exists: restore it, or remove the link to start ` +
        'with a new one.',
    );
  }
  return null;
}

async function createCluster({
  parent,
  place,
  account,
}: {
  parent: string;
  place: string;
  account: ServerAccount;
}): Promise<void> {
  if (await canEnter(account, parent)) {
    const staged = await createStagingDirectory(parent, 'postgres');
    await initialise(staged, account);
    await publish(staged, place);
    return;
  }
  await mkdir(SHARED_DIRECTORY, { recursive: true });
  // Set the mode explicitly, because the umask applies to mkdir.
  await chmod(SHARED_DIRECTORY, 0o755);
  const elsewhere = await mkdtemp(join(SHARED_DIRECTORY, 'data-'));
  await initialise(elsewhere, account);
  await unlessTaken(symlink(elsewhere, place), elsewhere);
}

async function initialise(directory: string, account: ServerAccount): Promise<void> {
  const binaries = await getBinaries(directory, account);
  const passwordFile = passwordFileIn(directory);
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (!account.isSelf) {
    await chown(passwordFile, account.uid, account.gid);
    await chown(directory, account.uid, account.gid);
  }
  const options = [
    `--pgdata=${dataIn(directory)}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The locale provider built into PostgreSQL does not depend on the system's locales.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ];
  try {
    await run(await getInitdb(binaries), options, { ...runAs(account), cwd: '/', env: CHILD_ENVIRONMENT });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(`PostgreSQL could not create its data directory: ${describeFailure(error)}`, {
      cause: error,
    });
  }
}

function describeFailure(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : '';
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  return (lines.slice(-3).join(' | ') || messageOf(error)) + remedyFor(said);
}

const CURES: readonly (readonly [text: string, cure: string])[] = [
  ['could not look up effective user ID', 'add this user to /etc/passwd'],
  ['could not resize shared memory segment', 'mount a larger /dev/shm'],
];

export function remedyFor(said: string): string {
  const cure = CURES.find(([text]) => said.includes(text))?.[1];
  return cure === undefined ? '' : ` Set DATABASE_URL, or ${cure}.`;
}

function dataIn(directory: string): string {
  return join(directory, 'data');
}

function passwordFileIn(directory: string): string {
  return join(directory, 'superuser-password');
}
