import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AbstractLogger, DataSource, MigrationExecutor } from 'typeorm';
import type { TokenOrigin } from '../src/auth';
import { IP_VERSIONS, PROXY_TYPES } from '../src/common';
import { dataSourceOptions, migrate, migrations } from '../src/database';
import { LEDGER_ENTRY_KINDS } from '../src/ledger/entry-kinds';
import { IdempotencyKeyReused } from '../src/orders';
import { BulkRecords } from '../src/orders/bulk/bulk-records';
import { OPEN_STATES, ORDER_KINDS, ORDER_STATES, UNATTENDED_STATES } from '../src/orders/order-states';
import { PROXY_CHANGES } from '../src/proxies/details/proxy-history.dto';
import { RENEWAL_STATES } from '../src/renewals';
import { DELIVERY_STATES, DISABLED_REASONS } from '../src/webhooks/webhook-states';
import { forAllTests, forEachTest } from './support/fixtures';
import { connectTo, createTestDatabase, type TestDatabase } from './support/test-database';

const MIGRATION_NAMES = migrations.map(({ name }) => name);

/** Connects as the owner: what the service's role may not do is tested in `database-role`. */
async function connect({ ownerUrl }: TestDatabase): Promise<DataSource> {
  const options = dataSourceOptions({ url: ownerUrl, poolSize: 12, applicationName: 'test' });
  return new DataSource(options).initialize();
}

async function findObjects(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ name: string }[]>(
    `SELECT relkind::text || ' ' || relname AS name FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'migrations%'
     UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
     UNION ALL SELECT 'type ' || typname FROM pg_type
      WHERE typnamespace = 'public'::regnamespace AND typname !~ 'migrations'
        AND NOT EXISTS (
          SELECT FROM pg_depend WHERE objid = ANY (ARRAY[pg_type.oid, pg_type.typelem]) AND deptype = 'e')
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

describe('The migrations', () => {
  const empty = forEachTest(() => createTestDatabase({ migrated: false }));
  const connected = forEachTest(() => connect(empty));
  afterEach(async () => {
    await connected.destroy();
    await empty.drop();
  });

  it('run once on an empty database, by any process', async () => {
    const done = await Promise.all(Array.from({ length: 4 }, () => migrate(empty)));
    expect(done.flat()).toEqual(MIGRATION_NAMES);
    expect(await new MigrationExecutor(connected).getPendingMigrations()).toEqual([]);
    expect(await migrate(empty)).toEqual([]);
  });

  it('leave no trace of one that has failed, which runs again', async () => {
    // TypeORM would print the failure to the console.
    const log = jest.spyOn(AbstractLogger.prototype, 'logMigration').mockImplementation();
    await connected.query('CREATE TABLE job_runs ()');
    await expect(migrate(empty)).rejects.toThrow('already exists');
    log.mockRestore();
    await connected.query('DROP TABLE job_runs');
    expect([await findObjects(connected), await migrate(empty)]).toEqual([[], MIGRATION_NAMES]);
  });
});

const database = forAllTests(createTestDatabase);
const dataSource = forAllTests(
  () => connect(database),
  (opened) => opened.destroy(),
);

describe('The words of the code', () => {
  it.each<[string, readonly string[]]>([
    ['api_tokens_origin_check', ['staff', 'customer', 'sign-in', 'oauth'] satisfies TokenOrigin[]],
    ['ledger_entries_kind_check', LEDGER_ENTRY_KINDS],
    ['orders_kind_check', ORDER_KINDS],
    ['orders_state_check', ORDER_STATES],
    ['orders_open_prolongation_key', OPEN_STATES],
    ['orders_due_idx', UNATTENDED_STATES],
    ['price_rules_version_check', IP_VERSIONS],
    ['proxies_proxy_type_check', PROXY_TYPES],
    ['proxies_version_check', IP_VERSIONS],
    ['proxy_changes_kind_check', PROXY_CHANGES],
    ['renewals_state_check', RENEWAL_STATES],
    ['webhook_deliveries_state_check', DELIVERY_STATES],
    ['webhooks_disabled_reason_check', DISABLED_REASONS],
  ])('are those of %s', async (name, words) => {
    const [found] = await dataSource.query<{ definition: string }[]>(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = $1
       UNION ALL SELECT pg_get_indexdef(to_regclass($1)) WHERE to_regclass($1) IS NOT NULL`,
      [name],
    );
    const written = [...(found?.definition.matchAll(/'([^']+)'::text/g) ?? [])].map(([, word]) => word);
    expect(written).toEqual(words);
  });
});

describe('The files of src/database/functions', () => {
  const FOLDER = join(__dirname, '../src/database/functions');

  it('define a function each, all of which are installed', async () => {
    const objects = await findObjects(dataSource);
    const installed = objects.flatMap((object) => /^function (.*)$/.exec(object)?.[1] ?? []);
    const files = readdirSync(FOLDER).sort();
    expect(installed.map((name) => `${name}.sql`)).toEqual(files);
    for (const file of files) {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      const defined = [...text.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map(([, name]) => name);
      expect(defined).toEqual([basename(file, '.sql')]);
    }
  });
});

describe('The database', () => {
  let userId: number;

  beforeEach(async () => {
    userId = await insertUser();
  });

  async function insertUser(): Promise<number> {
    const [user] = await dataSource.query<{ id: number }[]>(
      `INSERT INTO users (username) VALUES ('test') RETURNING id`,
    );
    return user?.id ?? 0;
  }

  async function insertOrder(columns: Record<string, unknown> = {}): Promise<number> {
    const order = {
      user_id: userId,
      kind: 'purchase',
      order_reference: `ours-${Math.random()}`,
      country: 'ru',
      version: '6',
      period: 30,
      count: 1,
      proxy_type: 'http',
      unit_price: 10,
      hold_amount: 10,
      provider: 'test',
      provider_price: 8,
      next_search_at: new Date(),
      [(columns['state'] ?? 'reserved') === 'reserved' ? 'queued_until' : 'sent_before']: new Date(),
      ...columns,
    };
    const [row] = await dataSource.query<{ id: number }[]>(
      `INSERT INTO orders (${Object.keys(order).join(', ')})
       VALUES (${Object.keys(order)
         .map((_, n) => `$${n + 1}`)
         .join(', ')}) RETURNING id`,
      Object.values(order),
    );
    return row?.id ?? 0;
  }

  async function insertProxy({
    orderId,
    actionId,
  }: { orderId?: number; actionId?: number } = {}): Promise<number> {
    const [row] = await dataSource.query<{ id: number }[]>(
      `INSERT INTO proxies (user_id, order_id, assigned_action_id, order_reference, provider,
         provider_proxy_id,
                            host, port, login, password, proxy_type, country, version, period)
       VALUES ($1, $2, $3::bigint, CASE WHEN $3 IS NOT NULL THEN 'ours' END, 'test', gen_random_uuid(),
               'host', '1', 'login', 'password', 'http', 'ru', '6', 30) RETURNING id`,
      [userId, orderId ?? (await insertOrder()), actionId ?? null],
    );
    return row?.id ?? 0;
  }

  const post = (
    kind: string,
    available: number,
    held: number,
    orderId: number | null = null,
    user = userId,
  ) =>
    dataSource.query<{ seq: number; available_after: string; held_after: string }[]>(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, order_id)
       VALUES ($1, $2, $3, $4, $5) RETURNING seq, available_after, held_after`,
      [user, kind, available, held, orderId],
    );

  async function getAccount() {
    const [account] = await dataSource.query('SELECT available, held, seq FROM accounts WHERE user_id = $1', [
      userId,
    ]);
    return account as unknown;
  }

  describe('and balances', () => {
    it('opens an empty account for every user', async () => {
      expect(await getAccount()).toEqual({ available: '0.00', held: '0.00', seq: 0 });
    });

    it('changes a balance with a ledger entry, which gets its number and the balances after it', async () => {
      const orderId = await insertOrder();
      expect(await post('topup', 100, 0)).toEqual([
        { seq: 1, available_after: '100.00', held_after: '0.00' },
      ]);
      expect(await post('hold', -10, 10, orderId)).toEqual([
        { seq: 2, available_after: '90.00', held_after: '10.00' },
      ]);
      expect(await post('capture', 0, -7, orderId)).toEqual([
        { seq: 3, available_after: '90.00', held_after: '3.00' },
      ]);
      expect(await post('release', 3, -3, orderId)).toEqual([
        { seq: 4, available_after: '93.00', held_after: '0.00' },
      ]);
      expect(await post('adjustment', -93, 0)).toEqual([
        { seq: 5, available_after: '0.00', held_after: '0.00' },
      ]);
      expect(await getAccount()).toEqual({ available: '0.00', held: '0.00', seq: 5 });
    });

    it('has room for what is held to be released', async () => {
      const orderId = await insertOrder();
      await post('topup', 999_999_999_999, 0);
      await post('hold', -10, 10, orderId);
      await expect(post('topup', 1, 0)).rejects.toThrow('accounts_total_check');
      await post('release', 10, -10, orderId);
    });

    const postNumbered = (...entries: readonly (readonly [seq: number, delta: number, after: number])[]) =>
      dataSource.query(
        `INSERT INTO ledger_entries (user_id, kind, seq, available_delta, held_delta, available_after,
                                     held_after)
         VALUES ${entries
           .map(([seq, delta, after]) => `($1, 'topup', ${seq}, ${delta}, 0, ${after}, 0)`)
           .join(', ')}`,
        [userId],
      );

    it('numbers the entries of a statement that says no number, also several of a user', async () => {
      await dataSource.query(
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta)
         SELECT $1, 'topup', amount, 0 FROM unnest(ARRAY[1, 2, 3]) AS amount`,
        [userId],
      );
      expect(await getAccount()).toEqual({ available: '6.00', held: '0.00', seq: 3 });
    });

    it('takes the numbers and balances of a statement whose entries follow the account', async () => {
      await post('topup', 10, 0);
      await postNumbered([2, 5, 15], [3, 7, 22]);
      expect(await getAccount()).toEqual({ available: '22.00', held: '0.00', seq: 3 });
      expect(await post('topup', 1, 0)).toMatchObject([{ seq: 4, available_after: '23.00' }]);
    });

    it.each<[what: string, ...entries: (readonly [seq: number, delta: number, after: number])[]]>([
      ['a balance after it that is too high', [2, 5, 1000]],
      ['a balance after it that is too low', [2, 5, 14]],
      ['a number that leaves a gap', [3, 5, 15]],
      ['the number of another entry', [1, 5, 15]],
      ['a gap between two', [2, 5, 15], [4, 5, 20]],
      ['a wrong balance between two', [2, 5, 16], [3, 5, 20]],
    ])('refuses entries with %s', async (_, ...entries) => {
      await post('topup', 10, 0);
      await expect(postNumbered(...entries)).rejects.toThrow(/do not follow|duplicate key/);
      expect(await getAccount()).toEqual({ available: '10.00', held: '0.00', seq: 1 });
    });

    it('writes an account once for all entries of a statement', async () => {
      await dataSource.transaction(async (manager) => {
        const countWrites = async () => {
          const [row] = await manager.query<{ writes: string }[]>(
            `SELECT n_tup_upd AS writes FROM pg_stat_xact_user_tables WHERE relname = 'accounts'`,
          );
          return Number(row?.writes);
        };
        const before = await countWrites();
        await manager.query(
          `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta)
           SELECT $1, 'topup', 1, 0 FROM generate_series(1, 10)`,
          [userId],
        );
        expect((await countWrites()) - before).toBe(1);
      });
    });

    it('numbers entries without gaps, even when many are concurrent and some are refused', async () => {
      await post('topup', 10, 0);
      const orders = await Promise.all(Array.from({ length: 30 }, () => insertOrder()));
      const responses = await Promise.allSettled(orders.map((orderId) => post('hold', -1, 1, orderId)));
      expect(responses.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      const entries = await dataSource.query<{ seq: number; available_after: string }[]>(
        'SELECT seq, available_after FROM ledger_entries WHERE user_id = $1 ORDER BY seq',
        [userId],
      );
      expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 11 }, (_, n) => n + 1));
      expect(entries.map(({ available_after: after }) => Number(after))).toEqual([
        10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
      ]);
      expect(await getAccount()).toEqual({ available: '0.00', held: '10.00', seq: 11 });
    });

    it('refuses a hold beyond the balance', async () => {
      await post('topup', 9.99, 0);
      await expect(post('hold', -10, 10, await insertOrder())).rejects.toThrow('accounts_available_check');
      expect(await getAccount()).toEqual({ available: '9.99', held: '0.00', seq: 1 });
    });

    it('refuses to capture or release more than is held', async () => {
      await post('topup', 100, 0);
      const orderId = await insertOrder();
      await post('hold', -10, 10, orderId);
      await expect(post('capture', 0, -10.01, orderId)).rejects.toThrow('accounts_held_check');
      await expect(post('release', 10.01, -10.01, orderId)).rejects.toThrow('accounts_held_check');
      expect(await getAccount()).toEqual({ available: '90.00', held: '10.00', seq: 2 });
    });

    it('refuses a second entry of the same kind for an order', async () => {
      await post('topup', 100, 0);
      const orderId = await insertOrder();
      await post('hold', -10, 10, orderId);
      await expect(post('hold', -10, 10, orderId)).rejects.toThrow('ledger_entries_order_id_kind_key');
      expect(await getAccount()).toEqual({ available: '90.00', held: '10.00', seq: 2 });
    });

    it.each<[string, number, number, boolean]>([
      ['topup', -5, 0, false],
      ['topup', 5, 5, false],
      ['topup', 5, 0, true],
      ['adjustment', 0, 0, false],
      ['adjustment', 5, -5, false],
      ['hold', 5, -5, true],
      ['hold', -5, 4, true],
      ['hold', -5, 5, false],
      ['capture', 5, -5, true],
      ['capture', 0, -5, false],
      ['release', 5, -4, true],
      ['release', 5, -5, false],
      ['gift', 5, 0, false],
    ])(
      'refuses a %s of %i available and %i held, for an order: %s',
      async (kind, available, held, forOrder) => {
        await post('topup', 100, 0);
        await post('hold', -50, 50, await insertOrder());
        const entry = post(kind, available, held, forOrder ? await insertOrder() : null);
        await expect(entry).rejects.toThrow('ledger_entries_kind_check');
        expect(await getAccount()).toEqual({ available: '50.00', held: '50.00', seq: 2 });
      },
    );

    it('refuses an entry for an unknown user', async () => {
      await expect(post('topup', 1, 0, null, 999_999)).rejects.toThrow('has no account');
    });
  });

  it.each([
    'UPDATE ledger_entries SET available_delta = 1',
    'UPDATE ledger_entries SET reason = NULL WHERE false',
    'DELETE FROM ledger_entries',
    'TRUNCATE ledger_entries',
    'TRUNCATE users CASCADE',
    'TRUNCATE orders CASCADE',
    'UPDATE accounts SET available = available + 1',
    'UPDATE accounts SET held = held + 1',
    'UPDATE accounts SET seq = seq + 1',
    'DELETE FROM accounts',
    'TRUNCATE accounts',
  ])('refuses to change the ledger, or a balance without an entry: %s', async (statement) => {
    await post('topup', 100, 0);
    await expect(dataSource.query(statement)).rejects.toThrow('is not allowed');
    expect(await getAccount()).toEqual({ available: '100.00', held: '0.00', seq: 1 });
  });

  it('refuses an account that is not empty at first', async () => {
    const insert = dataSource.query('INSERT INTO accounts (user_id, available) VALUES ($1, 5)', [userId]);
    await expect(insert).rejects.toThrow('an account starts empty');
  });

  it('has no foreign key to the accounts', async () => {
    const keys = await dataSource.query(
      `SELECT conname FROM pg_constraint WHERE contype = 'f' AND confrelid = 'accounts'::regclass`,
    );
    expect(keys).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['completed', { captured: 9, closed_at: '2026-01-01' }],
    ['completed', { captured: 10 }],
    ['partial', { captured: 10, released: 0, closed_at: '2026-01-01' }],
    ['partial', { captured: 4, released: 5, closed_at: '2026-01-01' }],
    ['canceled', { captured: 1, released: 9, closed_at: '2026-01-01' }],
    ['canceled', { released: 10 }],
    ['confirming', { captured: 1 }],
    ['review', { closed_at: '2026-01-01' }],
  ])('refuses an order in state %s with %j', async (state, columns) => {
    await expect(insertOrder({ state, ...columns })).rejects.toThrow('orders_closed_check');
  });

  it('refuses an order whose held amount is not the unit price times the count', async () => {
    await expect(insertOrder({ count: 3, hold_amount: 29 })).rejects.toThrow('orders_price_check');
  });

  it.each([
    ['confirming', { queued_until: '2026-01-01' }, 'queued'],
    ['reserved', { queued_until: null }, 'queued'],
    ['reserved', { sent_before: '2026-01-01' }, 'sent'],
    ['submitting', { sent_before: null }, 'sent'],
  ])('refuses an order in state %s with %j, by the check of what is %s', async (state, columns, what) => {
    await expect(insertOrder({ state, ...columns })).rejects.toThrow(`orders_${what}_check`);
  });

  it('refuses a purchase that renews a rental', async () => {
    await expect(insertOrder({ origin: 'renewal' })).rejects.toThrow('orders_renewal_check');
  });

  it('allows one order for an idempotency key of a user, unless it was canceled', async () => {
    const keyed = { idempotency_key: 'key', request_hash: Buffer.alloc(32) };
    await insertOrder({ ...keyed, state: 'canceled', released: 10, closed_at: new Date() });
    await insertOrder(keyed);
    await expect(insertOrder(keyed)).rejects.toThrow('orders_idempotency_key');
    userId = await insertUser();
    await expect(insertOrder(keyed)).resolves.toBeGreaterThan(0);
  });

  it('inserts no bulk under the key of an order, unless it was canceled', async () => {
    const bulk = { proxyIds: [], maxPrices: null };
    const insertBulk = () =>
      new BulkRecords(dataSource).accept(userId, { key: 'key', requestHash: Buffer.from('hash') }, bulk);
    const id = await insertOrder({ idempotency_key: 'key', request_hash: Buffer.from('hash') });
    await expect(insertBulk()).rejects.toBeInstanceOf(IdempotencyKeyReused);
    await dataSource.query(
      `UPDATE orders SET state = 'canceled', released = hold_amount, closed_at = now(), queued_until = NULL
        WHERE id = $1`,
      [id],
    );
    expect([await insertBulk(), await insertBulk()]).toEqual([bulk, bulk]);
  });

  it('allows one open prolongation of a proxy', async () => {
    const prolongation = { kind: 'prolongation', proxy_id: await insertProxy() };
    await insertOrder({ ...prolongation, state: 'completed', captured: 10, closed_at: new Date() });
    await insertOrder({ ...prolongation, state: 'review' });
    await expect(insertOrder(prolongation)).rejects.toThrow('orders_open_prolongation_key');
  });

  it('allows one owner of a proxy of the provider', async () => {
    const id = await insertProxy();
    const copy = dataSource.query(
      `INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                            proxy_type, country, version, period)
       SELECT user_id, order_id, provider, provider_proxy_id, host, port, login, password,
              proxy_type, country, version, period
         FROM proxies WHERE id = $1`,
      [id],
    );
    await expect(copy).rejects.toThrow('proxies_provider_proxy_id_key');
  });

  it('keeps every proxy with an order of its user', async () => {
    const orderId = await insertOrder();
    const id = await insertProxy({ orderId });
    await expect(insertProxy({ orderId: 999_999_999 })).rejects.toThrow('order that does not exist');
    await expect(insertProxy({ orderId, actionId: 999_999_999 })).rejects.toThrow('nothing that staff did');
    userId = await insertUser();
    await expect(insertProxy({ orderId })).rejects.toMatchObject({
      driverError: { code: '23503', constraint: 'proxies_order_id_fkey' },
    });
    for (const column of ['user_id', 'order_id', 'assigned_action_id']) {
      await expect(dataSource.query(`UPDATE proxies SET ${column} = 1 WHERE id = $1`, [id])).rejects.toThrow(
        'a proxy stays with its order',
      );
    }
  });

  it('makes every commit durable and limits every statement, lock and idle transaction', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c work_mem=8MB -c synchronous_commit=off -c statement_timeout=0');
    const connected = await connectTo(url.href);
    const [settings] = await connected.query(
      `SELECT current_setting('synchronous_commit') AS commit,
              current_setting('statement_timeout') AS statement,
              current_setting('lock_timeout') AS lock,
              current_setting('idle_in_transaction_session_timeout') AS idle,
              current_setting('TimeZone') AS zone, current_setting('work_mem') AS "ofTheUrl"`,
    );
    await connected.destroy();
    expect(settings).toEqual({
      commit: 'on',
      statement: '30s',
      lock: '10s',
      idle: '30s',
      zone: 'UTC',
      ofTheUrl: '8MB',
    });
  });

  it('is not used without these settings, neither by the service nor by its migrations', async () => {
    const options = dataSourceOptions({ url: database.url, poolSize: 1, applicationName: 'test' });
    const behindPooler = new DataSource({
      ...options,
      extra: { ...(options.extra as object), options: undefined },
    });
    await expect(behindPooler.initialize()).rejects.toThrow(
      /^Database sessions use idle_in_transaction_session_timeout = 0, not 30s, .*the pooler/,
    );
    const { url, ownerUrl } = database;
    const changed = { url, ownerUrl: `${ownerUrl}?lock_timeout=0` };
    await expect(migrate(changed)).rejects.toThrow('use lock_timeout = 0, not 1s');
  });
});
