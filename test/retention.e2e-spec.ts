import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_SCOPES, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { Retention, STEP_ROWS, Jobs } from '../src/jobs';
import { Metrics } from '../src/metrics';
import { createApiClient } from './support/api-client';
import { emptyDatabase } from './support/empty-database';
import { forAllTests, forEachTest } from './support/fixtures';
import { createStaff } from './support/staff';
import { sharedTestService, startTestService } from './support/test-service';

const DAYS_AGO = 400;
const MANY = 1500;

describe('Rows past their retention', () => {
  // Retention covers all users, and the tests age rows.
  const service = forAllTests(() => startTestService({ environment: { AUDIT_LOG_READ_DAYS: '365' } }));
  const staff = forEachTest(() => createStaff(service, ['staff:orders', 'staff:audit']));
  const user = forEachTest(() => service.createUser({ balance: '100000.00' }));
  afterEach(() => emptyDatabase(service));

  const buy = (key?: string) => user.buy({}, key);
  const retain = () => service.runJob('retention');
  const count = async (table: string, condition = 'true'): Promise<number> => {
    const [row] = await service.owner.query<{ n: number }[]>(
      `SELECT count(*) AS n FROM ${table} WHERE ${condition}`,
    );
    return row?.n ?? -1;
  };

  const tamper = (...statements: string[]) =>
    service.owner.transaction(async (owner) => {
      await owner.query('SET LOCAL session_replication_role = replica');
      for (const statement of statements) await owner.query(statement);
    });

  const age = (days = DAYS_AGO) => {
    const earlier = (column: string) => `${column} = ${column} - interval '${days} days'`;
    return tamper(
      `UPDATE orders SET ${earlier('created_at')}, ${earlier('closed_at')},
              delivered_proxies = (SELECT jsonb_agg(proxy || jsonb_build_object('date_end',
                                 now() + interval '30 days' - interval '${days} days'))
                          FROM jsonb_array_elements(delivered_proxies) AS proxy)`,
      `UPDATE ledger_entries SET ${earlier('created_at')}`,
      `UPDATE provider_calls SET ${earlier('created_at')}`,
      `UPDATE proxies SET ${earlier('created_at')}, ${earlier('date_end')}, ${earlier('date_start')}`,
      `UPDATE audit_log SET ${earlier('at')}`,
      `UPDATE token_spending SET day = day - ${days}`,
      'DELETE FROM retention_marks',
    );
  };

  const gather = () =>
    service.owner.transaction(async (owner) => {
      await owner.query(
        `WITH placed AS (
         INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count,
                             proxy_type, unit_price, hold_amount, provider, provider_price, queued_until,
                             next_search_at)
         SELECT ${user.id}, 'purchase', 'reserved', gen_random_uuid(), 'ru', '6', 30, 1, 'http', 1, 1, 'px6',
                1, now() + interval '1 hour', now() + interval '1 hour'
           FROM generate_series(1, ${MANY})
         RETURNING id
       ), entered AS (
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
         SELECT ${user.id}, kind, id, delta, -delta
           FROM placed, (VALUES ('hold', -1), ('release', 1)) AS entry (kind, delta) ORDER BY id, kind
       ), looked AS (
         INSERT INTO audit_log (via, action, request) SELECT 'cli', 'users.list', '{}' FROM placed
       )
       INSERT INTO provider_calls (order_id, method, request, outcome, duration_ms)
       SELECT id, 'buy', '{}', 'done', 1 FROM placed`,
      );
      await owner.query(
        `UPDATE orders SET state = 'canceled', released = hold_amount, closed_at = now(), queued_until = NULL
          WHERE user_id = ${user.id}
          AND state = 'reserved'`,
      );
    });

  const recordSteps = () =>
    service.owner.query(`
      CREATE TABLE steps (name text, size integer);
      CREATE FUNCTION record_step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        INSERT INTO steps SELECT TG_TABLE_NAME, count(*) FROM was;
        RETURN NULL;
      END $$;
      CREATE TRIGGER record_step AFTER DELETE ON provider_calls REFERENCING OLD TABLE AS was
        FOR EACH STATEMENT EXECUTE FUNCTION record_step();
      CREATE TRIGGER record_step AFTER DELETE ON audit_log REFERENCING OLD TABLE AS was
        FOR EACH STATEMENT EXECUTE FUNCTION record_step();
      CREATE TRIGGER record_step AFTER UPDATE ON orders REFERENCING OLD TABLE AS was
        FOR EACH STATEMENT EXECUTE FUNCTION record_step()`);

  it('goes in bounded steps while purchases go on, and the books hold before and after', async () => {
    const limited = await service.app
      .get(TokensService)
      .issue({ userId: user.id, scopes: ALL_SCOPES, dailyLimit: Money.parse('1000.00') });
    await createApiClient(service.baseUrl, limited.text).POST('/proxies/buy', {
      body: { country: 'ru', period: 30 },
    });
    await buy('k');
    await gather();
    await service.audit();
    await age();
    await service.audit();
    await recordSteps();

    const progress = { isDone: false };
    const bought: number[] = [];
    const buyOn = async (): Promise<void> => {
      bought.push((await buy()).response.status);
      if (!progress.isDone) await buyOn();
    };
    const [report] = await Promise.all([
      retain().finally(() => Object.assign(progress, { isDone: true })),
      buyOn(),
    ]);

    expect(new Set(bought)).toEqual(new Set([200]));
    expect(report).toMatchObject({
      order_passwords: 1,
      delivered_proxies: 1,
      order_histories: MANY + 2,
      provider_calls: MANY + 2,
      token_spending_days: 1,
      staff_reads: MANY,
    });
    const steps = await service.owner.query<{ name: string; largest: number; steps: number }[]>(
      `SELECT name, max(size) AS largest, count(*) FILTER (WHERE size > 100)::int AS steps
         FROM steps GROUP BY name ORDER BY name`,
    );
    await service.owner.query('DROP FUNCTION record_step CASCADE');
    expect(steps).toEqual(
      ['audit_log', 'orders', 'provider_calls'].map((name) => ({
        name,
        largest: STEP_ROWS,
        steps: Math.ceil(MANY / STEP_ROWS),
      })),
    );
    expect(await count('provider_calls', `created_at < now() - interval '180 days'`)).toBe(0);
    expect(await count('orders')).toBe(MANY + 2 + bought.length);
    await service.audit();
    expect(await retain()).toMatchObject({
      order_histories: 0,
      provider_calls: 0,
      staff_reads: 0,
      delivered_proxies: 0,
    });
  });

  it('leaves orders, keys and the pages of staff as they were, without the details', async () => {
    const first = await buy('key');
    const orderIds = async () => (await user.api.GET('/orders')).data?.items.map(({ id }) => id);
    const before = await orderIds();
    const detail = async () =>
      (await staff.get<{ history: object[]; provider_calls: object[] }>(`/staff/orders/${before?.[0]}`)).body;
    expect((await detail()).history).toHaveLength(3);
    expect((await detail()).provider_calls).toHaveLength(1);
    await age();
    const { sales } = await service.control.getState();
    await retain();

    const replay = await buy('key');
    expect(replay.response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(replay.data).toEqual({
      ...first.data,
      proxies: first.data?.proxies.map((proxy) => ({
        ...proxy,
        login: '',
        password: '',
        descr: 'The login and the password are no longer stored',
        active: false,
        date_start: expect.any(String),
        date_end: expect.any(String),
      })),
    });
    expect((await service.control.getState()).sales).toHaveLength(sales.length);
    expect(await orderIds()).toEqual(before);
    expect(await detail()).toMatchObject({ history: [{ state: 'completed' }], provider_calls: [] });
    await service.audit();
  });

  it('is never what staff changed, and a list of that goes on past a line that is gone', async () => {
    await service.owner.query(
      `INSERT INTO audit_log (via, action, target_type, target_id, request, after)
       SELECT 'cli', action, 'user', '${user.id}', '{}', after
         FROM (VALUES ('users.create', '{}'::jsonb), ('users.read', NULL), ('users.block', '{}'))
           AS line (action, after)`,
    );
    const pages = `/staff/actions?limit=2&target=user:${user.id}`;
    const page = async (cursor = '') =>
      (await staff.get<{ items: { action: string }[]; next_cursor: string }>(pages + cursor)).body;
    const first = await page();
    expect(first.items.map(({ action }) => action)).toEqual(['users.block', 'users.read']);
    await age();
    await retain();
    const next = await page(`&cursor=${first.next_cursor}`);
    expect(next.items.map(({ action }) => action)).toEqual(['users.create']);
    expect((await page()).items.map(({ action }) => action)).toEqual(['users.block', 'users.create']);
  });

  it('is not what is too young, or belongs to an order until staff have decided it', async () => {
    await buy('open');
    await service.owner.query(
      `INSERT INTO audit_log (via, action, request) VALUES ('cli', 'users.list', '{}')`,
    );
    await age(100);
    await expect(service.dataSource.query('SELECT forget_staff_reads(0, 30, 1000)')).rejects.toThrow(
      'append-only',
    );
    await age(-80);
    await expect(
      service.dataSource.query(
        'UPDATE orders SET history = jsonb_build_array(history -> -1) WHERE user_id = $1',
        [user.id],
      ),
    ).rejects.toThrow('written by its trigger');
    await age();
    await tamper(
      `UPDATE orders SET state = 'review', captured = 0, closed_at = NULL WHERE user_id = ${user.id}`,
    );
    await retain();
    const calls = `order_id IN (SELECT id FROM orders WHERE user_id = ${user.id})`;
    expect(await count('provider_calls', calls)).toBe(1);
    const histories = `user_id = ${user.id} AND jsonb_array_length(history) > 1`;
    expect(await count('orders', histories)).toBe(1);
    await tamper(
      `UPDATE orders SET state = 'canceled', released = hold_amount,
              closed_at = now() - interval '${DAYS_AGO} days'
        WHERE user_id = ${user.id}`,
    );
    expect(await retain()).toMatchObject({ provider_calls: 1, order_histories: 1 });
    expect([await count('provider_calls', calls), await count('orders', histories)]).toEqual([0, 0]);
    expect(await count('retention_marks', 'cardinality(left_ids) > 0')).toBe(0);
  });

  it('is no renewal that was ordered, nor a rule that is on or has renewed something', async () => {
    await buy();
    const { id: userId } = user;
    await service.owner.query(
      `WITH rules AS (
         INSERT INTO renewal_rules (user_id, period, disabled_at)
         SELECT $1, 30, off FROM (VALUES (NULL), (now() - interval '${DAYS_AGO} days'),
                                         (now() - interval '${DAYS_AGO} days' - interval '1 day'),
                                         (now())) AS rule (off)
         RETURNING id, disabled_at
       )
       INSERT INTO renewals (proxy_id, user_id, rule_id, date_end_before, state, reason, period, due_at,
                             created_at)
       SELECT proxies.id, $1, (SELECT id FROM rules ORDER BY disabled_at LIMIT 1),
              date_end - make_interval(days => age), state, 'no-price', 30, now(),
              now() - make_interval(days => age)
         FROM proxies, (VALUES ('failed', ${DAYS_AGO}), ('skipped', ${DAYS_AGO} + 1), ('failed', 1))
                         AS renewal (state, age)
        WHERE user_id = $1`,
      [userId],
    );
    expect(await retain()).toMatchObject({ failed_renewals: 1, renewal_rules: 1 });
    expect(await count('renewals', `user_id = ${userId}`)).toBe(2);
    expect(await count('renewal_rules', `user_id = ${userId}`)).toBe(3);
  });
});

describe('What is removed', () => {
  const service = forAllTests(sharedTestService);

  it('is stated for every table', async () => {
    const read = (name: string) => readFileSync(join(__dirname, '../docs', name), 'utf8');
    const [, growing = ''] = /^## Growth$(.*?)^## /ms.exec(read('operations.md')) ?? [];
    const [, others = ''] =
      /\*\*Small tables\*\*(.*?)^## Consequences/ms.exec(read('decisions/0047-what-is-kept.md')) ?? [];
    const said = new Set([...(growing + others).matchAll(/`(\w+)/g)].map(([, name]) => name));
    const tables = await service.owner.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
          AND relname <> 'migrations'`,
    );
    expect(tables.map(({ name }) => name).filter((name) => !said.has(name))).toEqual([]);
  });

  it('is nothing where the setting is 0 days', async () => {
    const jobs = new Jobs(service.dataSource, Metrics.disabled);
    const retention = new Retention(service.dataSource, jobs);
    retention.addOldRows({ name: 'orders', table: 'orders', time: 'created_at', days: 0, removal: 'DELETE' });
    expect(await jobs.runNow('retention')).toEqual({});
  });
});
