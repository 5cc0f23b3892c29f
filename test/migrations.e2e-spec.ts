import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AbstractLogger, DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import {
  createIndexConcurrently,
  dataSourceOptions,
  migrate,
  migrations,
  type Release,
  thisRelease,
  untilMigrated,
} from '../src/database';
import { eventually } from './support/built-service';
import { forEachTest } from './support/fixtures';
import { lockRow, untilWaiting } from './support/table-lock';
import { connectAsOwner, connectTo, createTestDatabase } from './support/test-database';

class IndexOfCountries9000000000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(runner, 'orders_country_idx', 'ON orders (country)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX CONCURRENTLY orders_country_idx');
  }
}

class ColumnOfOrders9000000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ADD COLUMN colour text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN colour');
  }
}

class TableOfColours9000000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE colours (id bigint)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE colours');
  }
}

const withMigrations = (...further: (new () => MigrationInterface)[]): Release => ({
  ...thisRelease(),
  migrations: [...migrations, ...further],
});

// TypeORM prints failed migrations to the console.
beforeAll(() => void jest.spyOn(AbstractLogger.prototype, 'logMigration').mockImplementation());
afterAll(() => jest.restoreAllMocks());

const never = new AbortController().signal;

describe('Migrating', () => {
  const withIndex = withMigrations(IndexOfCountries9000000000000);
  const database = forEachTest(createTestDatabase);
  const owner = forEachTest(() => connectAsOwner(database));
  afterEach(async () => {
    await owner.destroy();
    await database.drop();
  });

  const isIndexValid = (): Promise<unknown[]> =>
    owner.query(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('orders_country_idx')`);

  it('builds an index while others write, while another replica waits for its turn to migrate', async () => {
    // The writer holds the first replica in its migration until the second one waits.
    const writer = await lockRow(owner, 'LOCK TABLE orders IN ROW EXCLUSIVE MODE');
    const first = migrate(database, withIndex);
    await untilWaiting(owner);
    const second = migrate(database, withIndex);
    await eventually(async () => {
      const [row] = await owner.query<{ sessions: number }[]>(
        `SELECT count(*)::int AS sessions FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%advisory_lock%' AND pid <> pg_backend_pid()`,
      );
      // The first replica holds the lock in the session that builds the index.
      return (row?.sessions ?? 0) > 0;
    });
    await writer.release();
    expect(await Promise.all([first, second])).toEqual([[IndexOfCountries9000000000000.name], []]);
    expect(await isIndexValid()).toEqual([{ indisvalid: true }]);
  });

  it('builds an index anew that a failed build left invalid', async () => {
    await owner.query('CREATE INDEX orders_country_idx ON orders (id)');
    await owner.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_country_idx'::regclass`,
    );
    await migrate(database, withIndex);
    expect(await isIndexValid()).toEqual([{ indisvalid: true }]);
    expect(await owner.query(`SELECT pg_get_indexdef('orders_country_idx'::regclass) AS index`)).toEqual([
      { index: expect.stringContaining('(country)') },
    ]);
  });

  const mayWrite = (table: string) =>
    owner.query(`SELECT has_table_privilege('proxy_rental_test', $1, 'INSERT') AS "mayWrite"`, [table]);

  it('gives the service its rights on a new table with the functions that use it', async () => {
    // Both the baseline and this release have a trigger on `orders`.
    const release = withMigrations(TableOfColours9000000000000);
    const trigger = `${release.functions['record_order_state']}\n-- anew`;
    const reader = await lockRow(owner, 'LOCK TABLE orders IN ROW EXCLUSIVE MODE');
    const migrating = migrate(database, {
      ...release,
      functions: { ...release.functions, record_order_state: trigger },
    });
    await untilWaiting(owner);
    expect(await mayWrite('colours')).toEqual([{ mayWrite: false }]);
    await reader.release();
    await migrating;
    expect(await mayWrite('colours')).toEqual([{ mayWrite: true }]);
  });

  it('leaves the rights alone that a later version has granted', async () => {
    await owner.query(`INSERT INTO migrations (timestamp, name) VALUES (9e12, 'Later9000000000000')`);
    await owner.query('CREATE TABLE later (); GRANT SELECT ON later TO proxy_rental_test');
    expect([await migrate(database), await mayWrite('later')]).toEqual([[], [{ mayWrite: false }]]);
  });

  const findInstalled = async (...names: readonly string[]): Promise<string[]> => {
    const rows = await owner.query<{ name: string }[]>(
      `SELECT oid::regprocedure || ' ' || prorettype::regtype AS name FROM pg_proc WHERE proname = ANY ($1)
       UNION ALL SELECT tgname FROM pg_trigger JOIN pg_proc ON tgfoid = pg_proc.oid WHERE proname = ANY ($1)
       ORDER BY 1`,
      [names],
    );
    return rows.map(({ name }) => name);
  };

  it('installs functions whose texts differ, and an older version leaves those of a newer one', async () => {
    const release = thisRelease();
    const { record_order_state: kept = '', log_low_balance: _, ...others } = release.functions;
    const newer: Release = {
      ...release,
      number: release.number + 1,
      functions: {
        ...others,
        record_order_state: kept.replace(/CREATE OR REPLACE TRIGGER orders_record_first_state[^;]*;/, ''),
        // The previous version does not pass the new parameter.
        iso_text: `
          CREATE FUNCTION iso_text(moment timestamptz, fraction text DEFAULT '', zone text DEFAULT '')
            RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'newer' $$`,
        publishing_lock: `CREATE OR REPLACE FUNCTION publishing_lock() RETURNS text
          LANGUAGE sql IMMUTABLE AS $$ SELECT 'newer' $$`,
        // The file of the calling trigger comes first.
        a_colour: `CREATE OR REPLACE FUNCTION a_colour() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN RETURN NEW; END $$;
          CREATE TRIGGER orders_colour BEFORE INSERT ON orders FOR EACH ROW WHEN (is_green(NEW.country))
            EXECUTE FUNCTION a_colour()`,
        is_green: `CREATE FUNCTION is_green(country text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
          SELECT later_function(country) $$`,
        later_function: `CREATE FUNCTION later_function(country text) RETURNS boolean LANGUAGE sql IMMUTABLE
          AS $$ SELECT true $$`,
      },
    };
    const names = ['record_order_state', 'log_low_balance', 'iso_text', 'publishing_lock', 'a_colour'];
    const before = await findInstalled(...names);
    const after = [
      'a_colour() trigger',
      'iso_text(timestamp with time zone,text,text) text',
      'orders_colour',
      'orders_record_state',
      'publishing_lock() text',
      'record_order_state() trigger',
    ];
    expect([await migrate(database, newer), await findInstalled(...names)]).toEqual([[], after]);
    await migrate(database);
    expect(await findInstalled(...names)).toEqual(after);

    await migrate(database, { ...release, number: newer.number });
    expect(await findInstalled(...names)).toEqual(before);
  });

  it('ends the wait of a start that does not migrate for functions of another release or text', async () => {
    for (const change of ['release = 0', `checksums = checksums || '{"iso_text": ""}'`]) {
      await owner.query(`UPDATE installed_functions SET ${change}`);
      const notes: string[] = [];
      const waiting = untilMigrated(database, (line) => notes.push(line), never);
      await eventually(() => notes.length > 0);
      await migrate(database);
      expect([await waiting, notes]).toEqual([true, [expect.stringMatching(/to install functions of 1\./)]]);
    }
  });

  it('names the role that has to migrate', async () => {
    await expect(migrate({ url: database.url }, withIndex)).rejects.toThrow('DATABASE_OWNER_URL');
    expect(await migrate({ url: database.url })).toEqual([]);
  });
});

describe('A start that does not migrate', () => {
  const database = forEachTest(() => createTestDatabase({ migrated: false }));
  afterEach(() => database.drop());

  it('waits until aborted, or until another process has run every migration and granted rights', async () => {
    const stopping = new AbortController();
    expect(await untilMigrated(database, () => stopping.abort(), stopping.signal)).toBe(false);
    const notes: string[] = [];
    const waiting = untilMigrated(database, (line) => notes.push(line), never);
    await eventually(() => notes.length > 0);
    await migrate(database);
    expect(await waiting).toBe(true);
    expect(notes).toEqual([expect.stringMatching(/to install Baseline\d+, .*functions of 1\./)]);
    const service = await connectTo(database.url);
    expect(await service.query('SELECT FROM accounts')).toEqual([]);
    await service.destroy();
  });

  it('is refused, and so is migrating, by a database of a version before 1.0.0', async () => {
    const owner = await connectAsOwner(database);
    await owner.query('CREATE TABLE migrations (); CREATE TABLE ledger_entries ()');
    await owner.destroy();
    const refusal = 'The database was created by a version before 1.0.0 and cannot be upgraded';
    await expect(untilMigrated(database, () => undefined, never)).rejects.toThrow(refusal);
    await expect(migrate(database)).rejects.toThrow(refusal);
  });
});

/** The baseline creates all tables at once, before they are used. The rules are for later migrations. */
const UNCHECKED = migrations[0]?.name;

class Recorder extends AbstractLogger {
  readonly statements = new Map<string, string>();
  private sent: string[] = [];

  override logQuery(query: string, parameters?: unknown[]): void {
    if (/^(START TRANSACTION|COMMIT)/.test(query)) this.sent = [];
    // This COMMIT ends the previous migration.
    if (query === 'COMMIT') return;
    this.sent.push(query.trim().replace(/;?$/, ';'));
    if (!query.startsWith('INSERT INTO "migrations"')) return;
    if (this.sent[0]?.startsWith('START')) this.sent.push('COMMIT;');
    this.statements.set(String(parameters?.[1]), this.sent.join('\n'));
    this.sent = [];
  }

  protected writeLog(): void {}
}

function lint(statements: readonly (readonly [name: string, statements: string])[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'squawk-'));
  try {
    const files = statements.map(([name, text]) => {
      const file = join(directory, `${name}.sql`);
      writeFileSync(file, text);
      return file;
    });
    const { status, stdout, stderr } = spawnSync(
      join(__dirname, '../node_modules/.bin/squawk'),
      ['--config', join(__dirname, '../.squawk.toml'), '--reporter', 'gcc', ...files],
      { encoding: 'utf8' },
    );
    return status === 0 ? '' : `${stdout}${stderr}`.replaceAll(`${directory}/`, '');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('The linter of migrations', () => {
  it('objects to nothing in those that were written since the baseline', async () => {
    const database = await createTestDatabase({ migrated: false });
    const recorder = new Recorder(true);
    const later = [...migrations, IndexOfCountries9000000000000, ColumnOfOrders9000000000001];
    const owner = new DataSource({
      ...dataSourceOptions({ url: database.ownerUrl, poolSize: 2, applicationName: 'test' }),
      migrations: later,
      logging: true,
      logger: recorder,
    });
    try {
      await owner.initialize();
      await owner.runMigrations();
    } finally {
      await owner.destroy();
      await database.drop();
    }
    expect([...recorder.statements.keys()]).toEqual(later.map(({ name }) => name));
    expect(lint([...recorder.statements].filter(([name]) => name !== UNCHECKED))).toBe('');
  });

  it('objects in a transaction to what locks a table for long, or breaks the version before', () => {
    const expected = [
      ['CREATE INDEX orders_country_idx ON orders (country)', 'require-concurrent-index-creation'],
      ['CREATE INDEX CONCURRENTLY orders_country_idx ON orders (country)', 'in-transaction'],
      ['ALTER TABLE orders ALTER COLUMN id TYPE numeric', 'changing-column-type'],
      ['ALTER TABLE orders DROP COLUMN country', 'ban-drop-column'],
      ['ALTER TABLE orders RENAME COLUMN country TO land', 'renaming-column'],
      ['ALTER TABLE orders ADD COLUMN colour text NOT NULL', 'adding-required-field'],
      ['ALTER TABLE orders ALTER COLUMN country SET NOT NULL', 'adding-not-nullable-field'],
      ['DROP TABLE unmatched_proxies', 'ban-drop-table'],
    ] as const;
    const lines = lint(expected.map(([statement], n) => [`bad-${n}`, `BEGIN; ${statement}; COMMIT;`]))
      .trim()
      .split('\n');
    for (const [n, [statement, objection]] of expected.entries()) {
      const said = lines.filter((line) => line.startsWith(`bad-${n}.sql:`)).join('\n');
      expect([statement, said]).toEqual([statement, expect.stringContaining(objection)]);
    }
  });
});
