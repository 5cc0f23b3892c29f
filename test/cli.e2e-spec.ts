import { queryAt } from '../drills/support/database';
import { USUAL_SCOPES } from '../src/auth';
import type { Outcome } from './support/built-service';
import { runCliHere, shareServicesOfCommands } from './support/cli';
import { forAllTests } from './support/fixtures';
import { createTestDatabase, type TestDatabase } from './support/test-database';

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
let environment: Record<string, string>;

// Most commands run on a database that no service has touched.
const database = forAllTests(createTestDatabase);
beforeAll(() => {
  environment = { DATABASE_URL: database.url, PROVIDER: 'sandbox', MIGRATE_ON_START: 'false' };
});

type Run = (command: string, changes?: Record<string, string>) => Promise<Outcome>;

const run: Run = (command, changes) => runCliHere(command.split(' '), { ...environment, ...changes });

async function responseTo<Result>(command: string, changes?: Record<string, string>): Promise<Result> {
  const { code, stdout, stderr } = await run(command, changes);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function refusalOf(command: string, changes?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await run(command, changes);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr.trimEnd();
}

const refusalsOf = (commands: readonly string[]): Promise<string[]> =>
  Promise.all(commands.map((command) => refusalOf(command)));

async function insertUser(): Promise<number> {
  const insert = `INSERT INTO users (username) VALUES ('test') RETURNING id::text`;
  return Number((await query<{ id: string }>(database, insert))[0]?.id);
}

describe('the command line', () => {
  forAllTests(shareServicesOfCommands);

  describe('users', () => {
    it('are created with what is known of them, and listed', async () => {
      const [full, plain] = await Promise.all([
        responseTo<object>(
          'users create --username anna --tg-id 9007199254740991 --web-username anna@example.org --has-app',
        ),
        responseTo<object>('users create --username boris'),
      ]);
      expect(full).toEqual({
        id: expect.any(Number),
        username: 'anna',
        telegram_username: null,
        tg_id: 9_007_199_254_740_991,
        web_username: 'anna@example.org',
        has_app: true,
        created_at: MOMENT,
        blocked_at: null,
        blocked_reason: null,
        deleted_at: null,
        links: expect.any(Object),
      });
      expect(plain).toMatchObject({ username: 'boris', tg_id: null, web_username: null, has_app: false });
      const empty = { same_name_as: [], balance: '0.00', held: '0.00', last_order_at: null };
      const listed = [full, plain].map((user) => ({ ...user, ...empty }));
      expect(await responseTo('users list')).toEqual(expect.arrayContaining(listed));
    });
  });

  describe('tokens', () => {
    it('get the scopes of a group, an expiry, networks and a daily limit', async () => {
      const userId = await insertUser();
      const limits = '--expires-in 30d --allowed-ips 10.0.0.1/8,2001:db8::1 --daily-limit 500';
      const issued = await responseTo<{ created_at: string; expires_at: string }>(
        `tokens create --user ${userId} --scopes all --name laptop ${limits}`,
      );
      expect(issued).toEqual({
        id: expect.any(Number),
        user_id: userId,
        name: 'laptop',
        scopes: USUAL_SCOPES,
        created_at: MOMENT,
        expires_at: MOMENT,
        revoked_at: null,
        last_used_at: null,
        allowed_ips: ['10.0.0.0/8', '2001:db8::1/128'],
        daily_limit: '500.00',
        issued_by: null,
        origin: 'staff',
        token: expect.stringMatching(/^prx_[0-9A-Za-z]{49}$/),
      });
      expect((Date.parse(issued.expires_at) - Date.parse(issued.created_at)) / 86_400_000).toBeCloseTo(30, 2);
      expect(await responseTo(`tokens create --user ${userId} --scopes staff`)).toMatchObject({
        scopes: expect.arrayContaining(['staff:users', 'staff:audit']),
        expires_at: null,
      });
    });
  });

  describe('orders', () => {
    it('are listed and shown', async () => {
      const userId = await insertUser();
      const [order] = await query<{ id: number }>(
        database,
        `INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count,
                             proxy_type, unit_price, hold_amount, provider, provider_price, sent_before,
                             next_search_at)
         VALUES ($1, 'purchase', 'review', 'test.cli', 'ru', '6', 30, 1, 'http', 10, 10, 'px6', 8,
                 now(), now())
         RETURNING id::int`,
        [userId],
      );
      const id = order?.id;
      const filters = '--state review --kind purchase --from 2026-01-01T00:00:00Z --order-reference test.cli';
      const listed = await responseTo<object[]>(`orders list --user ${userId} ${filters}`);
      expect(listed).toMatchObject([{ id, user_id: userId, state: 'review', created_at: MOMENT }]);
      expect(await responseTo(`orders list --user ${userId} --before ${id}`)).toEqual([]);
      expect(await responseTo(`orders show --id ${id}`)).toMatchObject({ ...listed[0], actions: [] });
      expect(await refusalOf('orders show --id 999999')).toBe('Order not found');
      expect(await refusalOf('orders list --state closed')).toContain(
        'Allowed choices are reserved, submitting',
      );
    });
  });

  describe('price rules', () => {
    const BY = '--by anna --reason test';

    interface Rule {
      readonly id: number;
      readonly valid_from: string;
    }

    it('are added and replaced, and keep who did it and why', async () => {
      const userId = await insertUser();
      const rule = await responseTo<Rule>(
        `prices add --user ${userId} --version 4 --min-period 7 --max-period 30 --markup 12.5 ${BY}`,
      );
      expect(rule).toEqual({
        id: expect.any(Number),
        user_id: userId,
        username: expect.any(String),
        country: null,
        version: '4',
        min_period: 7,
        max_period: 30,
        markup_percent: '12.5000',
        valid_from: MOMENT,
        valid_to: null,
        created_at: MOMENT,
        created_by: 'anna',
        reason: 'test',
        ended_at: null,
        ended_by: null,
        end_reason: null,
        preview: null,
      });
      const replacement = `--from 2099-01-01T00:00:00+03:00 --replaces ${rule.id} --by boris --reason better`;
      const next = await responseTo<Rule>(
        `prices add --user ${userId} --country US --markup 3 ${replacement}`,
      );
      expect(next).toMatchObject({ country: 'us', valid_from: '2098-12-31T21:00:00.000Z' });
      expect(await responseTo(`prices list --user ${userId}`)).toMatchObject([
        { id: next.id },
        { id: rule.id, valid_to: next.valid_from, ended_by: 'boris', end_reason: 'better' },
      ]);
    });

    it('are refused when they are not possible', async () => {
      const refusals = await refusalsOf([
        `prices add --markup 1`,
        `prices add --markup -1 ${BY}`,
        `prices add --markup 1 --version 5 ${BY}`,
        `prices add --markup 1 --user 999999 ${BY}`,
        `prices add --markup 1 --from 2027-01-01 ${BY}`,
        `prices add --markup 1 --from 2020-01-01T00:00:00Z ${BY}`,
        `prices end --id 999999 ${BY}`,
        'prices preview',
        'prices preview --country us --replaces 1',
      ]);
      expect(refusals).toEqual([
        `error: required option '--by <name>' not specified`,
        expect.stringMatching(/^error: option '--markup <text>' argument '-1' is invalid/),
        expect.stringContaining('Allowed choices are 6, 4, 4s.'),
        'User not found',
        expect.stringContaining('expected ISO 8601 with an offset, e.g. 2026-11-21T12:00:00Z.'),
        'A change must begin at least 1 s from now, and end after it begins',
        'Price rule not found',
        'Specify a rule to add, a rule to end, or both',
        `error: required option '--markup <text>' not specified`,
      ]);
    });
  });

  describe('sales', () => {
    it('are summed up by day or by the given dimensions', async () => {
      expect(await responseTo('sales --from 2026-01-01 --to 2027-01-01 --by country,version')).toEqual({
        total: expect.objectContaining({ orders: 0, sales: '0.00', margin: '0.00' }),
        items: [],
      });
      const refusals = await refusalsOf([
        'sales --from 2999-01-01',
        'sales --from 2026-01-01 --to 2027-01-02',
        'sales --from 2026-01-01 --to 2026-02-30',
        'sales --from 2026-01-01 --to 2026-02-01 --by user',
      ]);
      expect(refusals).toEqual([
        'The last day must not be before the first, and the period must not exceed 366 days',
        'The last day must not be before the first, and the period must not exceed 366 days',
        expect.stringContaining('expected a day, e.g. 2026-11-21.'),
        expect.stringMatching(/^error: option '--by <text>' argument 'user' is invalid/),
      ]);
    });
  });

  describe('a command', () => {
    it('is refused in one line when it is not understood', async () => {
      expect(await refusalOf('frobnicate')).toBe(`error: unknown command 'frobnicate'`);
      const refusals = await refusalsOf([
        'users creat --username anna',
        'users create',
        'users list --all',
        'users create --username anna --tg-id -1',
        'tokens create --user 1 --scopes profile:read,proxies',
        'tokens create --user 1 --scopes all --expires-in 30',
      ]);
      expect(refusals).toEqual([
        `error: unknown command 'creat' (Did you mean create?)`,
        `error: required option '--username <text>' not specified`,
        `error: unknown option '--all'`,
        `error: option '--tg-id <number>' argument '-1' is invalid. Input should be greater than 0.`,
        expect.stringContaining('known scopes: all, read, profile:read,'),
        expect.stringContaining('must be a number of minutes, hours or days, e.g. 90m, 12h, 30d.'),
      ]);
    });
  });
});

describe('a command with services of its own', () => {
  it('says when the database does not exist', async () => {
    const missing = { DATABASE_URL: Object.assign(new URL(database.url), { pathname: '/missing' }).href };
    expect(await refusalOf('users list', missing)).toBe('database "missing" does not exist');
  });

  it('names every mistake in the environment, without its value', async () => {
    const mistakes = { PORT: 'sesame', MARKUP_PERCENT: 'sesame', PX6_API_KEY: 'sesame' };
    const refusal = await refusalOf('users list', mistakes);
    expect(refusal).toMatch(/^The environment is invalid: PORT .*; MARKUP_PERCENT .*; PX6_API_KEY /);
    expect(refusal).not.toContain('sesame');
  });

  describe('status', () => {
    it('is empty before any service has run, and the command counts as no replica', async () => {
      const empty = await createTestDatabase();
      try {
        const there = { DATABASE_URL: empty.url, MIGRATE_ON_START: 'true' };
        const nothing = { provider_balance: null, orders_waiting: 0, catalog: [], jobs: [], replicas: [] };
        for (const _ of [1, 2]) expect(await responseTo('status', there)).toMatchObject(nothing);
      } finally {
        await empty.drop();
      }
    });
  });

  describe('migrate', () => {
    it('brings an empty database up to date, and does nothing from then on', async () => {
      const empty = await createTestDatabase({ migrated: false });
      try {
        const roles = { DATABASE_URL: empty.url, DATABASE_OWNER_URL: empty.ownerUrl };
        const { migrations } = await responseTo<{ migrations: string[] }>('migrate', roles);
        expect(migrations[0]).toMatch(/^Baseline\d+$/);
        expect(await responseTo('migrate', roles)).toEqual({ migrations: [] });
        expect(await query(empty, 'SELECT name FROM migrations ORDER BY id')).toEqual(
          migrations.map((name) => ({ name })),
        );
      } finally {
        await empty.drop();
      }
    });
  });
});

const query = <Row>({ url }: TestDatabase, sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  queryAt<Row>(url, sql, parameters);
