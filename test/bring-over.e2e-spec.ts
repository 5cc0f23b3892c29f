import { Client } from 'pg';
import { ALL_SCOPES, TokensService } from '../src/auth';
import { migrate, migrations, untilMigrated } from '../src/database';
import { LAST_COMMIT_BEFORE } from '../src/database/schema-version';
import { createApiClient } from './support/api-client';
import { loadBeforeTheBaseline } from './support/before-the-baseline';
import { forEachTest } from './support/fixtures';
import { readSchema } from './support/schema-catalog';
import { connectAsOwner, createTestDatabase } from './support/test-database';
import { startTestService } from './support/test-service';

// Each test has a database of the version before, and one starts the service on it.

const ANNA = 1;
/** Tables that the bring-over changes otherwise than by names, and by columns that come or go. */
const CHANGED = ['migrations', 'upstream_calls'];
/** Names of tables and of columns, before and since. */
const RENAMED: Readonly<Record<string, string>> = {
  call_demand: 'permit_demand',
  call_slots: 'rate_permits',
  catalogue_copies: 'catalog_copies',
  staff_actions: 'audit_log',
  group_id: 'batch_id',
  looks: 'checks',
  next_look_at: 'next_check_at',
  travels_alone: 'resent',
};

/** The migrations after the baseline, which come with the same start. */
const LATER = migrations.slice(1).map(({ name }) => name);

type Row = Readonly<Record<string, unknown>>;

const database = forEachTest(() => createTestDatabase({ migrated: false }));
const owner = forEachTest(async () => {
  await loadBeforeTheBaseline(database.ownerUrl);
  return connectAsOwner(database);
});
afterEach(async () => {
  await owner.destroy();
  await database.drop();
});

const bringOver = () => migrate({ ...database, bringsOver: true });

async function schemaOfBaseline(): Promise<string[]> {
  const fresh = await createTestDatabase();
  const dataSource = await connectAsOwner(fresh);
  const schema = await readSchema(dataSource);
  await dataSource.destroy();
  await fresh.drop();
  return schema;
}

const newName = (name: string): string => RENAMED[name] ?? name;

/** The rows of a table, with the names of columns as they are since. */
async function readRows(table: string): Promise<Row[]> {
  const rows = await owner.query<{ row: Row }[]>(`SELECT to_jsonb(t) AS row FROM ${table} t`);
  return rows.map(({ row }) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [newName(name), value])),
  );
}

/** The columns that a table has in both states, in any order of columns and rows. */
function inCommon(rows: readonly Row[], others: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {}).filter((name) => name in (others[0] ?? {}));
  return rows.map((row) => JSON.stringify(names.sort().map((name) => [name, row[name]]))).sort();
}

describe('A database of the last version before the baseline', () => {
  it('is refused by every start, with the commit and the document', async () => {
    const says = `commit ${LAST_COMMIT_BEFORE}, and has to be brought over once`;
    await expect(migrate(database)).rejects.toThrow(says);
    const waiting = untilMigrated(database, () => undefined, new AbortController().signal);
    await expect(waiting).rejects.toThrow('operations/bring-over.mjs (docs/operations.md');
  });

  it('gets the schema of the baseline, once, and loses nothing', async () => {
    const tables = await owner.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL ($1)`,
      [CHANGED],
    );
    const paused = { paused_at: new Date('2026-11-01T00:00:00Z'), paused_reason: 'test' };
    await owner.query(
      `UPDATE installation
          SET renewals_paused_at = $1, renewals_paused_reason = $2, price_rules_version = 7`,
      Object.values(paused),
    );
    const before = await Promise.all(tables.map(({ name }) => readRows(name)));
    expect(await bringOver()).toEqual(LATER);
    expect(await readSchema(owner)).toEqual(await schemaOfBaseline());
    expect(await owner.query('SELECT paused_at, paused_reason FROM renewals_pause')).toEqual([paused]);
    const [rules] = await owner.query('SELECT revision::integer FROM price_rules_revision');
    expect(rules).toEqual({ revision: 7 });
    for (const [n, { name }] of tables.entries()) {
      const [rows, now] = [before[n] ?? [], await readRows(newName(name))];
      expect([name, ...inCommon(now, rows)]).toEqual([name, ...inCommon(rows, now)]);
    }
    const calls = await owner.query<{ answer: string }[]>('SELECT answer FROM provider_calls');
    expect(calls.map(({ answer: response }) => JSON.parse(response) as unknown)).toEqual(
      calls.map(() => expect.objectContaining({ status: 'yes' })),
    );
    expect(await bringOver()).toEqual([]);
    expect(await owner.query('SELECT name FROM migrations')).toEqual(
      migrations.map(({ name }) => ({ name })),
    );
  });

  it('sells, replays keys as before, and has clean books', async () => {
    await bringOver();
    const [balance] = await owner.query('SELECT available, held FROM accounts WHERE user_id = $1', [ANNA]);
    expect(balance).toMatchObject({ held: expect.stringMatching(/^[^0]/) });
    const service = await startTestService({ database });
    try {
      const { text } = await service.app.get(TokensService).issue({ userId: ANNA, scopes: ALL_SCOPES });
      const api = createApiClient(service.baseUrl, text);
      const buy = (key: string, body: { country: string; period: number; count: number }) =>
        api.POST('/proxies/buy', { body, params: { header: { 'Idempotency-Key': key } } });
      // The provider does not give the ids again that the rentals have.
      await service.wire.call('buy?count=20&period=3&country=ru&version=6');
      const bought = await buy('new', { country: 'ru', period: 7, count: 2 });
      expect(bought.data?.proxies).toHaveLength(2);
      const replayed = await buy('buy-1', { country: 'ru', period: 30, count: 3 });
      expect(replayed.response.headers.get('Idempotency-Replayed')).toBe('true');
      expect(replayed.data).toMatchObject({ order_id: 1, price_charged: '68.97' });
      // The purchase that was under way when the service was killed: the provider knows nothing of it.
      await service.untilSettled();
      expect(await owner.query(`SELECT id, state FROM orders WHERE idempotency_key = 'buy-4'`)).toEqual([
        { id: expect.anything(), state: 'refunded' },
      ]);
      await service.audit();
    } finally {
      await service.close();
    }
  });

  it('is left alone while something uses it', async () => {
    const replica = new Client({ connectionString: database.url, application_name: 'proxy-rental-service' });
    await replica.connect();
    await expect(bringOver()).rejects.toThrow('stop all replicas');
    await replica.end();
    await bringOver();
  });

  it('is brought over by several at once as by one', async () => {
    const done = await Promise.all([bringOver(), bringOver(), bringOver()]);
    expect(done.flat()).toEqual(LATER);
  });
});

it('A database of a version before that one is refused, with the commit to start in between', async () => {
  await owner.query(`DELETE FROM migrations WHERE name LIKE 'RentalsOfAUser%'`);
  const says = `before commit ${LAST_COMMIT_BEFORE}: start that one on it first`;
  await expect(bringOver()).rejects.toThrow(says);
  await expect(migrate(database)).rejects.toThrow(says);
});
