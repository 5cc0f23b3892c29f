import { Client } from 'pg';
import { migrate, migrations, refuseBeforeBaseline } from '../../database';
import {
  acquireEmbeddedPostgres,
  acquireEmbeddedPostgresAlone,
  type OwnedDatabase,
} from '../postgres/embedded-postgres';
import { type BackupSize, loadBackup, readHeader, writeBackup } from './backup-file';
import { type BackupHeader, UnusableBackupError } from './backup-format';

export interface MadeBackup extends BackupSize {
  readonly file: string;
  readonly bytes: number;
}

export interface Restored extends BackupSize {
  readonly file: string;
  /** ISO 8601. */
  readonly made_at: string;
  /** Whether the database had users before. */
  readonly replaced: boolean;
  /** Migrations that ran on the restored rows, because the backup is from an earlier version. */
  readonly migrations: readonly string[];
}

const nobody = (): void => undefined;

/** Backs the embedded database of a data directory up to a new file, beside a service that uses it. */
export async function backUpEmbedded({
  dataDir,
  file,
}: {
  dataDir: string;
  file: string;
}): Promise<MadeBackup> {
  const postgres = await acquireEmbeddedPostgres({ dataDir, onNote: nobody });
  try {
    return { file, ...(await writeBackup(postgres.ownerUrl, file)) };
  } finally {
    await postgres.release();
  }
}

/**
 * Puts a backup in the place of the embedded database of a data directory. It is loaded beside the present
 * one and takes its place at the end, in one step: until then, whatever happens, the present one stays.
 *
 * @param options.replace whether a database that has users may be replaced
 * @param options.prepare is called with the restored database before it is put in place
 * @throws Error in one line: the file cannot be used, or the database is in use or not empty
 */
export async function restoreEmbedded({
  dataDir,
  file,
  replace,
  prepare,
}: {
  dataDir: string;
  file: string;
  replace: boolean;
  prepare: (database: OwnedDatabase) => Promise<void>;
}): Promise<Restored> {
  const header = await readHeader(file);
  const first = migrationsOf(header);
  const postgres = await acquireEmbeddedPostgresAlone({ dataDir, onNote: nobody });
  try {
    const replaced = await hasUsers(postgres.address.ownerUrl);
    if (replaced && !replace) {
      throw new Error('The database is not empty: --replace has everything in it replaced by the backup.');
    }
    const replacement = await postgres.createReplacement();
    await migrate(replacement, first);
    const size = await loadBackup(replacement.ownerUrl, file);
    const later = await migrate(replacement);
    await prepare(replacement);
    await postgres.putInPlace();
    return { file, made_at: header.made_at, ...size, replaced, migrations: later };
  } finally {
    await postgres.release();
  }
}

/** The migrations that had run where the backup was made. */
function migrationsOf(header: BackupHeader): typeof migrations {
  refuseBeforeBaseline(header.migrations);
  const names = new Set(header.migrations);
  const found = migrations.filter(({ name }) => names.has(name));
  if (found.length < names.size) {
    throw new UnusableBackupError('The backup is from a later version of the service than this one.');
  }
  return found;
}

async function hasUsers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT WHERE to_regclass('public.users') IS NOT NULL`);
    return rows.length > 0 && (await client.query('SELECT FROM users LIMIT 1')).rows.length > 0;
  } finally {
    await client.end();
  }
}
