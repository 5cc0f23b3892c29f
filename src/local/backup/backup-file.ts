import { constants, createReadStream, createWriteStream } from 'node:fs';
import { access, rename, rm, stat } from 'node:fs/promises';
import { pipeline as connect, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, type Gunzip } from 'node:zlib';
import { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { holdMigrationsOff } from '../../database';
import { isErrorWithCode } from '../system';
import {
  type BackupHeader,
  BackupReader,
  copyStatement,
  END_OF_ROWS,
  linesAfter,
  linesBefore,
  statementsAfter,
  statementsBefore,
  tableList,
  UnusableBackupError,
} from './backup-format';

/** More takes twice the time for a twentieth of the size. */
const COMPRESSION_LEVEL = 4;
const PIECE_BYTES = 256 * 1024;

export interface BackupSize {
  readonly tables: number;
  readonly rows: number;
}

/**
 * Writes all rows of a database to a new file, as they are at one moment, beside whoever uses the database.
 * The file appears once it is complete. It belongs to this user alone: it holds the hashes of tokens and the
 * passwords of proxies. Unlogged tables, which a crash of the server empties, are left out.
 *
 * @param url of the owner of the tables
 */
export async function writeBackup(url: string, file: string): Promise<BackupSize & { bytes: number }> {
  await refuseExisting(file);
  const unfinished = `${file}.unfinished`;
  await rm(unfinished, { force: true });
  try {
    const size = await withClient(url, async (client) => {
      await holdMigrationsOff(client);
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const header = await describe(client);
      await client.query(`LOCK TABLE ${tableList(header)} IN ACCESS SHARE MODE`);
      const counted = { tables: header.tables.length, rows: 0 };
      await pipeline(
        Readable.from(writeText(client, header, (rows) => (counted.rows += rows))),
        createGzip({ level: COMPRESSION_LEVEL, chunkSize: PIECE_BYTES }),
        createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true }),
      );
      return counted;
    });
    const { size: bytes } = await stat(unfinished);
    await refuseExisting(file);
    await rename(unfinished, file);
    return { ...size, bytes };
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** @throws UnusableBackupError */
export async function readHeader(file: string): Promise<BackupHeader> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new UnusableBackupError(`${file} cannot be read.`, { cause: error });
  });
  const text = openText(file);
  try {
    return await new BackupReader(text).readHeader();
  } finally {
    text.destroy();
  }
}

/**
 * Replaces all rows of a database, in one transaction, by those of a backup. The same migrations must have
 * run.
 *
 * @param url of a superuser, since the triggers are switched off meanwhile
 * @throws UnusableBackupError, and then the rows are as before
 */
export async function loadBackup(url: string, file: string): Promise<BackupSize> {
  const text = openText(file);
  try {
    return await withClient(url, async (client) => {
      const reader = new BackupReader(text);
      const header = await reader.readHeader();
      const { tables } = await describe(client);
      if (!isSame(header.tables, tables)) {
        throw new UnusableBackupError('The tables of the backup are not those that its migrations make.');
      }
      for (const statement of statementsBefore(header)) await client.query(statement);
      let rows = 0;
      for (const table of header.tables) {
        const copy = client.query(copyFrom(copyStatement(table, 'FROM stdin')));
        await pipeline(Readable.from(reader.readRows(table)), copy).catch((error: unknown) => {
          if (error instanceof UnusableBackupError) throw error;
          throw new UnusableBackupError(`The rows of ${table.name} cannot be loaded.`, { cause: error });
        });
        rows += copy.rowCount;
      }
      await reader.readEnd(header);
      for (const statement of statementsAfter(header)) await client.query(statement);
      await client.query('ANALYZE');
      return { tables: header.tables.length, rows };
    });
  } finally {
    text.destroy();
  }
}

async function* writeText(
  client: Client,
  header: BackupHeader,
  onRows: (count: number) => void,
): AsyncGenerator<Buffer | string> {
  yield toText(linesBefore(header));
  for (const table of header.tables) {
    yield toText([copyStatement(table, 'FROM stdin')]);
    const rows = client.query(copyTo(copyStatement(table, 'TO STDOUT')));
    for await (const piece of rows) yield piece as Buffer;
    onRows(rows.rowCount);
    yield toText([END_OF_ROWS]);
  }
  yield toText(linesAfter(header));
}

const toText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** What there is to back up, in the transaction's view. The tables stay as they are until it ends. */
async function describe(client: Client): Promise<BackupHeader> {
  const { rows } = await client.query<{ madeAt: Date; header: Omit<BackupHeader, 'made_at'> }>(`
    SELECT now() AS "madeAt", json_build_object(
      'server', current_setting('server_version'),
      'migrations', '[]'::json,
      'tables', (
        SELECT coalesce(json_agg(
                 json_build_object('name', relname, 'columns', columns) ORDER BY relname), '[]')
          FROM pg_class, LATERAL (
            SELECT json_agg(attname ORDER BY attname) AS columns FROM pg_attribute
             WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '')
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relpersistence = 'p'),
      'sequences', (
        SELECT coalesce(json_agg(json_build_object(
            'name', sequencename,
            'value', coalesce(last_value, start_value)::text,
            'is_called', last_value IS NOT NULL) ORDER BY sequencename), '[]')
          FROM pg_sequences WHERE schemaname = 'public')
      ) AS header`);
  const [{ madeAt, header } = {}] = rows;
  if (!madeAt || !header?.tables.some(({ name }) => name === 'migrations')) {
    throw new Error('The database is empty: nothing has run on it yet.');
  }
  const { rows: migrations } = await client.query<{ name: string }>(
    'SELECT name FROM migrations ORDER BY id',
  );
  return { ...header, made_at: madeAt.toISOString(), migrations: migrations.map(({ name }) => name) };
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whoever reads the text gets its error. */
function openText(file: string): Gunzip {
  const text = createGunzip({ chunkSize: PIECE_BYTES });
  // That the file was cut off is found when the pipeline has ended, and perhaps before anybody reads.
  text.on('error', () => undefined);
  connect(createReadStream(file, { highWaterMark: PIECE_BYTES }), text, () => undefined);
  return text;
}

async function refuseExisting(file: string): Promise<void> {
  try {
    await stat(file);
  } catch (error) {
    if (isErrorWithCode(error, 'ENOENT')) return;
    throw error;
  }
  throw new Error(`${file} exists already.`);
}

async function withClient<Value>(url: string, use: (client: Client) => Promise<Value>): Promise<Value> {
  const client = new Client({ connectionString: url, application_name: 'proxy-rental backup' });
  // A lost connection fails the statement under way. Without this listener it would end the process as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
