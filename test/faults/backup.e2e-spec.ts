import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions, findExcessiveRights, migrate } from '../../src/database';
import { acquireEmbeddedPostgres } from '../../src/local';
import { loadBeforeTheBaseline } from '../support/before-the-baseline';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  eventually,
  killLeftovers,
  startBuiltService,
} from '../support/built-service';
import { runCliHere } from '../support/cli';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

interface MadeBackup {
  readonly file: string;
  readonly bytes: number;
  readonly tables: number;
  readonly rows: number;
}

interface RestoredBackup {
  readonly replaced: boolean;
  readonly rows: number;
  readonly migrations: readonly string[];
}

const BUYERS = 4;
const TIMEOUT_MS = 120_000;
const INCOMPLETE = 'The file is not a complete backup of this service.';

describe('a backup of the embedded database', () => {
  const directories: string[] = [];
  let dataDir: string;
  let backup: MadeBackup;
  /** How many orders there were when the backup began and when it had ended. */
  let ordersAround: readonly [number, number];

  beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await killLeftovers();
    for (const directory of directories) await removeTestDirectory(directory);
  });

  async function createDataDir(): Promise<string> {
    const directory = await createTestDirectory('backup-');
    directories.push(directory);
    return directory;
  }

  const runHere = (words: readonly string[], directory = dataDir) =>
    runCliHere(words, { DATA_DIR: directory });

  async function answerTo<Answer>(words: readonly string[], directory = dataDir): Promise<Answer> {
    const { code, stdout, stderr } = await runHere(words, directory);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  async function refusalOf(words: readonly string[], directory = dataDir): Promise<string> {
    const { code, stdout, stderr } = await runHere(words, directory);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return stderr.trimEnd();
  }

  /** Asks the database itself, as its owner. */
  async function query<Row>(statement: string, directory = dataDir): Promise<Row[]> {
    const postgres = await acquireEmbeddedPostgres({ dataDir: directory, onNote: () => undefined });
    const client = new Client({ connectionString: postgres.ownerUrl });
    await client.connect();
    try {
      return (await client.query(statement)).rows as Row[];
    } finally {
      await client.end();
      await postgres.release();
    }
  }

  const countOrders = async (): Promise<number> =>
    (await query<{ orders: number }>('SELECT count(*)::int AS orders FROM orders'))[0]?.orders ?? -1;

  const start = (): Promise<BuiltService> =>
    startBuiltService({ DATA_DIR: dataDir, PROVIDER_RATE_PER_SECOND: '50', LOG_LEVEL: 'error' });

  it(
    'is made beside customers who buy',
    async () => {
      dataDir = await createDataDir();
      const service = await start();
      const token = (await readFile(join(dataDir, 'demo-token'), 'utf8')).trim();
      const end = new AbortController();
      let bought = 0;
      const buyers = Array.from({ length: BUYERS }, async () => {
        while (!end.signal.aborted) {
          const response = await fetch(`${service.baseUrl}/proxies/buy`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
            body: JSON.stringify({ country: 'ru', period: 3 }),
          });
          await response.arrayBuffer();
          if (response.status === 200) bought += 1;
        }
      });
      const before = await countOrders();
      backup = await answerTo<MadeBackup>(['backup', join(dataDir, 'one.backup')]);
      ordersAround = [before, await countOrders()];
      const boughtMeanwhile = bought;
      await eventually(() => bought > boughtMeanwhile + BUYERS);
      end.abort();
      await Promise.all(buyers);

      expect(await refusalOf(['restore', backup.file, '--replace'])).toBe(
        'The database is in use: stop the service and all commands, and try again.',
      );
      expect(await refusalOf(['backup', backup.file])).toBe(`${backup.file} exists already.`);
      await service.stop();
      const { size, mode } = await stat(backup.file);
      expect([size, mode & 0o777]).toEqual([backup.bytes, 0o600]);
      expect(existsSync(`${backup.file}.unfinished`)).toBe(false);
    },
    TIMEOUT_MS,
  );

  it(
    'leaves the database as it is when the file is of no use, or when nobody said that it may be replaced',
    async () => {
      const bytes = await readFile(backup.file);
      const text = gunzipSync(bytes).toString('latin1');
      const damaged = Buffer.from(bytes);
      damaged[bytes.length >> 1]! ^= 0x10;
      const files: [string, Buffer, string][] = [
        ['cut', bytes.subarray(0, -100), INCOMPLETE],
        ['damaged', damaged, INCOMPLETE],
        ['foreign', Buffer.from('PGDMP'), INCOMPLETE],
        [
          'later',
          gzipSync(Buffer.from(text.replace('"Baseline', '"Later9","Baseline'), 'latin1')),
          'The backup is from a later version of the service than this one.',
        ],
      ];
      const rows = await query('SELECT count(*)::int, sum(available_delta) FROM ledger_entries');
      for (const [name, content, line] of files) {
        const file = join(dataDir, name);
        await writeFile(file, content);
        expect(await refusalOf(['restore', file, '--replace'])).toBe(line);
      }
      expect(await refusalOf(['restore', join(dataDir, 'missing'), '--replace'])).toContain('cannot be read');
      expect(await refusalOf(['restore', backup.file])).toBe(
        'The database is not empty: --replace has everything in it replaced by the backup.',
      );
      expect(await query('SELECT count(*)::int, sum(available_delta) FROM ledger_entries')).toEqual(rows);
      expect(await query(`SELECT datname FROM pg_database WHERE datname LIKE 'proxy%'`)).toEqual([
        { datname: 'proxy_rental' },
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'is restored as it was at one moment, with the rights of both roles',
    async () => {
      const later = await countOrders();
      const restored = await answerTo<RestoredBackup>(['restore', backup.file, '--replace']);
      expect(restored).toMatchObject({ rows: backup.rows, replaced: true, migrations: [], recovering: true });

      const orders = await countOrders();
      expect(orders).toBeGreaterThanOrEqual(ordersAround[0]);
      expect(orders).toBeLessThanOrEqual(ordersAround[1]);
      expect(orders).toBeLessThan(later);
      expect(await answerTo(['audit'])).toMatchObject({ ok: true });
      const postgres = await acquireEmbeddedPostgres({ dataDir, onNote: () => undefined });
      const asService = await new DataSource(
        dataSourceOptions({ url: postgres.url, poolSize: 1, applicationName: 'test' }),
      ).initialize();
      expect(await findExcessiveRights(asService)).toEqual([]);
      await asService.destroy();
      await postgres.release();

      const service = await start();
      const token = (await readFile(join(dataDir, 'demo-token'), 'utf8')).trim();
      const profile = await fetch(`${service.baseUrl}/me`, { headers: { Authorization: `Bearer ${token}` } });
      expect(await profile.json()).toMatchObject({ username: 'demo' });
      const order = await fetch(`${service.baseUrl}/proxies/buy`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ country: 'ru', period: 3 }),
      });
      expect([order.status, await order.json()]).toEqual([
        503,
        { detail: 'Service temporarily unavailable' },
      ]);
      expect(await answerTo(['recovery', 'show'])).toMatchObject({ recovering: true });
      await service.stop();
    },
    TIMEOUT_MS,
  );

  it(
    'goes into a directory that was empty, with whatever text it holds',
    async () => {
      const earlier = await createDataDir();
      const postgres = await acquireEmbeddedPostgres({ dataDir: earlier, onNote: () => undefined });
      await migrate(postgres);
      await query(`INSERT INTO users (username) VALUES (E'anna\\n\\\\.\\n\\t')`, earlier);
      await postgres.release();
      const { file } = await answerTo<MadeBackup>(['backup', join(earlier, 'earlier.backup')], earlier);

      const fresh = await createDataDir();
      expect(await answerTo<RestoredBackup>(['restore', file], fresh)).toMatchObject({
        replaced: false,
        migrations: [],
      });
      await query('INSERT INTO users (username) VALUES (NULL)', fresh);
      expect(await query('SELECT id, username FROM users ORDER BY id', fresh)).toMatchObject([
        { username: 'anna\n\\.\n\t' },
        { username: null },
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'of a version before the baseline is refused with what to do',
    async () => {
      const earlier = await createDataDir();
      const postgres = await acquireEmbeddedPostgres({ dataDir: earlier, onNote: () => undefined });
      await loadBeforeTheBaseline(postgres.ownerUrl);
      await postgres.release();
      const { file } = await answerTo<MadeBackup>(['backup', join(earlier, 'earlier.backup')], earlier);
      const refusal = await refusalOf(['restore', file], await createDataDir());
      expect(refusal).toContain('From before the baseline');
    },
    TIMEOUT_MS,
  );

  it('is refused for a database that is not the embedded one', async () => {
    const refused = await runCliHere(['backup', join(dataDir, 'other')], {
      DATABASE_URL: 'postgres://service:sesame@127.0.0.1:1/x',
    });
    expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('pg_dump') });
  });
});
