import { DataSource } from 'typeorm';
import { seedDatabase, type Seeded } from '../../bench/seeding/seed-database';
import { dataSourceOptions } from '../../src/database';
import { INVARIANTS } from '../../src/integrity/invariants';
import { SCOPE_SQL } from '../../src/integrity/scopes';
import { SalesService } from '../../src/ledger';
import { ProxyProvider } from '../../src/provider';
import { StatusService } from '../../src/status';
import { MaintenanceService } from '../../src/sync';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { seedEvents } from '../support/seeded-events';
import { createStaff } from '../support/staff';
import { findWholeReads, recordStatements } from '../support/statement-plans';
import { connectAsOwner } from '../support/test-database';
import { startTestService, testUser, type TestUser } from '../support/test-service';

const GROWING = [
  'users',
  'accounts',
  'api_tokens',
  'orders',
  'proxies',
  'ledger_entries',
  'provider_calls',
  'audit_log',
  'renewals',
  'renewal_rules',
];

/** Kept no longer than events, so that a day is a good part of them. */
const OF_A_MONTH = ['events', 'webhooks', 'webhook_deliveries', 'webhook_attempts'];
const LARGE = [...GROWING, ...OF_A_MONTH];

/** Many orders match these filters: they are soon found among the newest. */
const OF_MANY = /^\s*SELECT orders\.id.* WHERE (orders\.state = '(completed|canceled)'|orders\.kind = )/s;

/** Parts of the statements' texts. Without these statements, the rest would prove nothing. */
const HOT: Readonly<Record<string, string>> = {
  'the caller behind a token': 'WHERE token_hash = ANY ($1',
  'the profile': 'FROM users u JOIN accounts a',
  'when the next rental ends': 'min(date_end) FILTER',
  'a part of a list or an export': 'SELECT string_agg(part',
  'a page of proxies': 'bound AS MATERIALIZED',
  'the label of a proxy': 'labelled AS MATERIALIZED',
  'the history of a proxy': 'recorded AS MATERIALIZED',
  'one proxy': 'FROM proxies WHERE id = $1 AND user_id = $2',
  'what orders delivered': 'FROM proxies WHERE order_id = ANY',
  'what has a key': 'FROM requests_of_key($1, $2)',
  'placing an order': 'FROM place_orders',
  'outcomes of orders': 'FROM orders WHERE id = ANY ($1)',
  'the next orders of the queue': 'candidates AS',
  'delivering a purchase': 'delivered AS MATERIALIZED',
  'releasing a hold': `'release' AS kind`,
  'what is due for a check': 'due AS MATERIALIZED',
  'what is open of batches': 'SELECT * FROM orders WHERE batch_id = ANY',
  'whether anything is queued': 'AS "hasReady"',
  'how many purchases have ends to be read': 'AS purchases',
  'the ends that one listing tells': 'AS "readAt"',
  'the ends before prolongations': 'SET date_end_before',
  'delivering a prolongation': 'prolonged AS',
  'changes in a page of the sweep': 'SET host = changing.host',
  'unmatched proxies in a page of the sweep': 'INSERT INTO unmatched_proxies',
  'what the sweep has not seen': 'SET absences = CASE WHEN',
  'sales that are not summed up yet': 'grouping(day, country, version)',
  'summing up a week of sales': 'INSERT INTO sales_days',
  'what the provider took in a day': 'sum(provider_charge)',
  'orders under way': 'GROUP BY state',
  'flags of what has ended': 'active AND date_end <= now()',
  'flags of what has not': 'NOT active AND withdrawn_at IS NULL',
  'responses whose passwords are to go': 'forgotten AS',
  'users by a part': 'username ILIKE $2',
  'a user for staff': 'spent AS spent_total',
  'orders by their reference': 'SELECT id FROM orders WHERE order_reference = $1',
  'orders by a host': 'WHERE proxies.host = $1',
  'whether a host has very many proxies': 'AS "isCommon"',
  'the prolongations of a user': "orders.user_id = $1 AND orders.kind = 'prolongation'",
  'an order for staff': 'leader.order_reference AS leader_reference',
  'calls for an order': 'FROM provider_calls WHERE order_id = ANY',
  'entries of an order': 'WHERE entry.order_id = $1',
  'the log of one who did one thing': 'WHERE user_id = $1 AND action = $2',
  'a page of the ledger': 'ORDER BY seq DESC LIMIT $3',
  'a part of the ledger as a file': 'AS text, max(seq) AS last',
  'what a customer spent this month': 'WITH parts AS',
  'what rentals a customer has': 'AS rented',
  'a statement': "SELECT seq, iso_text(created_at, '.US') AS created_at, kind",
  'events after a position': 'AS "removedTo"',
  'the webhooks of a user': 'FROM webhooks\n',
  'the attempts of a webhook': 'FROM webhook_attempts attempt',
  'what is to be sent again': 'event.at >= $3',
  'what is to be sent to webhooks': 'WITH RECURSIVE waiting',
  'what came of an attempt': 'recovered AS',
  'rentals to be renewed': 'planned AS',
  'renewals without a reminder': 'days < last_reminded_days',
  'renewals that are due': 'AS "isConfirmed"',
  'outcomes of renewals': 'recorded AS',
  'renewals that are too late': 'late AS',
  'renewals of a user': 'FROM renewals WHERE user_id = $1',
  'rentals of a forecast': 'AS is_withdrawn',
  'renewals for staff': 'AS username, proxy_id',
};

describe('with many users, orders and proxies', () => {
  let databaseUrl: string;
  let seeded: Seeded;

  const service = forAllTests(() =>
    startTestService({
      prepareDatabase: async (url) => {
        databaseUrl = url;
        seeded = await seedDatabase({
          databaseUrl: url,
          users: 3000,
          entriesPerUser: 10,
          proxiesPerUser: 50,
          seed: 1,
        });
        await seedEvents(url);
        await keepAutovacuumAway(url);
      },
    }),
  );
  const sent = forAllTests(() => recordStatements(service.dataSource));
  beforeAll(async () => {
    await useEverything();
  }, 400_000);

  /** Autovacuum would analyze a sample of the rows at any time. */
  async function keepAutovacuumAway(url: string): Promise<void> {
    const owner = await connectAsOwner({ url, ownerUrl: url });
    for (const table of LARGE) await owner.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
    await owner.destroy();
  }

  async function useEverything(): Promise<void> {
    const user = testUser(service.baseUrl, seeded.sample.userId, seeded.sample.token);
    const buy = (key: string) => user.buy({ count: 3 }, key);
    await user.api.GET('/me');
    await user.api.GET('/proxies');
    for (const query of [{}, { proxy_type: 'socks', active_only: true }] as const) {
      await user.api.GET('/proxies/export', { params: { query: { format: 'json', ...query } } });
    }
    await readBooks(user);
    await useEvents(user);
    await useRenewals(user);
    await user.api.GET('/proxies', { params: { query: { limit: 10, tag: 'nothing' } } });
    await buy('once');
    await buy('once');
    const { data } = await user.buy();
    await user.prolong(data?.proxies[0]?.id ?? '');
    const one = { params: { path: { proxy_id: data?.proxies[0]?.id ?? '' } } };
    await user.api.PATCH('/proxies/{proxy_id}', { ...one, body: { descr: 'mine', tags: ['team'] } });
    await user.api.GET('/proxies/{proxy_id}/history', one);
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await user.buy();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy('refused');
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await service.control.addFault({ method: 'getproxy', kind: 'hang' });
    await buy('lost');
    const open = await service.balanceOf(user);
    await eventually(async () => (await service.balanceOf(user)).held !== open.held || open.held === '0.00');
    await service.runJob('sweep');
    await service.runJob('active-flags');
    await service.runJob('retention');
    await service.runJob('sales-days');
    await service.app
      .get(SalesService)
      .read({ from: '2026-01-01', to: '2026-02-01', by: ['day', 'country', 'version'] });
    await new StatusService(
      service.dataSource,
      service.app.get(MaintenanceService),
      service.app.get(ProxyProvider),
    ).read();
    await useStaffRoutes();
  }

  async function readBooks({ token }: TestUser): Promise<void> {
    const period = 'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z';
    const filters = ['', '&cursor=3', '&kind=debit', '&order_id=1', `&${period}`, `&${period}&kind=hold`];
    const pages = filters.map((filter) => `/ledger?format=json${filter}`);
    const files = filters.map((filter) => `/ledger?format=csv${filter}`);
    for (const path of [...pages, ...files, '/usage']) {
      const response = await fetch(service.baseUrl + path, { headers: { Authorization: `Bearer ${token}` } });
      await response.text();
      expect([path, response.status]).toEqual([path, 200]);
    }
  }

  async function useEvents({ api }: TestUser): Promise<void> {
    for (const query of [{ limit: 10 }, { type: 'order.completed' }]) {
      expect((await api.GET('/events', { params: { query } })).response.status).toBe(200);
    }
    await api.GET('/webhooks');
    const { data: made } = await api.POST('/webhooks', { body: { url: 'https://127.0.0.1/' } });
    const webhook = { params: { path: { webhook_id: made?.id ?? 0 } } };
    await api.POST('/webhooks/{webhook_id}/test', webhook);
    await eventually(
      async () => (await api.GET('/webhooks/{webhook_id}/attempts', webhook)).data?.items.length === 1,
    );
    await api.POST('/webhooks/{webhook_id}/replay', { ...webhook, body: { since: '2026-01-01T00:00:00Z' } });
  }

  async function useRenewals({ api }: TestUser): Promise<void> {
    const { data } = await api.POST('/proxies/buy', { body: { country: 'ru', period: 3 } });
    const proxy = { target: 'proxy', proxy_id: data?.proxies[0]?.id ?? '' } as const;
    const { data: rule } = await api.POST('/renewals/rules', {
      body: { ...proxy, period: 3, hours_before: 72 },
    });
    await api.GET('/renewals/forecast');
    // An order that is not closed when the run ends is settled by the next one.
    await eventually(async () => {
      await service.runJob('renewals');
      return (await api.GET('/renewals')).data?.items[0]?.state === 'done';
    });
    await api.DELETE('/renewals/rules/{rule_id}', { params: { path: { rule_id: rule?.id ?? 0 } } });
  }

  async function useStaffRoutes(): Promise<void> {
    const staff = await createStaff(service);
    await service.dataSource.query(
      `INSERT INTO audit_log (at, via, user_id, token_id, action, target_type, target_id, request)
       SELECT now() - make_interval(secs => n), 'api', $1::bigint + n % 40, $2,
              (ARRAY['users.read', 'users.search', 'orders.read'])[1 + n % 3],
              'user', n % 1000, '{}'
         FROM generate_series(1, 20000) AS n`,
      [staff.id - 40, staff.tokenId],
    );
    // Analyzes all rows: with a sample, the plans would be luck.
    await service.owner.query('SET default_statistics_target = 1000; ANALYZE');
    const { userId } = seeded.sample;
    const [order] = await service.dataSource.query<Record<string, string>[]>(
      `SELECT orders.id, orders.order_reference, provider_order_id, request_id, host, provider_proxy_id
         FROM orders JOIN proxies ON proxies.order_id = orders.id WHERE orders.user_id = $1 LIMIT 1`,
      [userId],
    );
    const times = 'from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z';
    const orderFilters = [
      `user_id=${userId}`,
      'state=review',
      'state=canceled',
      'state=completed',
      'kind=prolongation',
      times,
      ...['order_reference', 'provider_order_id', 'provider_proxy_id', 'host', 'request_id'].map(
        (name) => `${name}=${order?.[name]}`,
      ),
    ];
    const actionFilters = [`user_id=${staff.id}`, 'action=orders.read', 'target=user:77', times];
    const pairsOf = (filters: readonly string[]): string[] =>
      filters.flatMap((one, at) =>
        filters
          .slice(at + 1)
          .filter((other) => other.split('=')[0] !== one.split('=')[0])
          .map((other) => `${one}&${other}`),
      );
    for (const path of [
      '/users',
      '/users?cursor=500',
      ...['zzzzz', 'qz', '987'].map((part) => `/users?query=${part}`),
      `/users/${userId}`,
      `/users/${userId}/tokens?cursor=1`,
      `/tokens/${staff.tokenId}/descendants`,
      `/users/${userId}/ledger`,
      `/users/${userId}/statement?${times}`,
      '/orders',
      ...[...orderFilters, ...pairsOf(orderFilters)].map((filter) => `/orders?${filter}`),
      ...orderFilters.map((filter) => `/orders?${filter}&cursor=${order?.['id']}`),
      `/orders/${order?.['id']}`,
      ...['', '?state=skipped', '?reason=no-price', '?due=true', `?user_id=${userId}`].map(
        (filter) => `/renewals${filter}`,
      ),
      `/users/${userId}/renewals`,
      ...['', '?disabled=true', `?user_id=${userId}`].map((filter) => `/webhooks${filter}`),
      '/actions',
      ...[...actionFilters, ...pairsOf(actionFilters)].map((filter) => `/actions?${filter}`),
      ...actionFilters.map((filter) => `/actions?${filter}&cursor=1000`),
    ]) {
      const { status } = await staff.get(`/staff${path}`);
      expect([path, status]).toEqual([path, 200]);
    }
  }

  it.each(Object.entries(HOT))('the service runs %s', (_, part) => {
    expect([...sent.keys()].filter((text) => text.includes(part))).not.toEqual([]);
  });

  it('reads none of the large tables from end to end', async () => {
    const found: Record<string, string[]> = {};
    for (const statement of sent.values()) {
      const all = await findWholeReads(service.dataSource, statement, LARGE);
      const wholeReads = OF_MANY.test(statement.text) ? all.filter((read) => read.startsWith('Seq')) : all;
      if (wholeReads.length > 0) found[statement.text] = wholeReads;
    }
    expect(found).toEqual({});
  });

  it('audits what changed in a day by indexes alone', async () => {
    const found: Record<string, string[]> = {};
    for (const { name, violations, ofDay = violations } of INVARIANTS) {
      const statement = { text: `${SCOPE_SQL.day} ${ofDay}`, parameters: [] };
      const reads = ofDay === null ? [] : await findWholeReads(service.dataSource, statement, GROWING);
      if (reads.length > 0) found[name] = reads;
    }
    expect(found).toEqual({});
  });

  it('would be seen to read one, were an index missing', async () => {
    const list = [...sent.values()].find(({ text }) =>
      text.includes(HOT['a part of a list or an export'] ?? ''),
    );
    const alone = await new DataSource({
      ...dataSourceOptions({ url: databaseUrl, poolSize: 1, applicationName: 'test' }),
    }).initialize();
    try {
      await alone.query('BEGIN; DROP INDEX proxies_user_id_idx, proxies_user_id_date_end_idx');
      const statement = list ?? { text: '', parameters: [] };
      expect(await findWholeReads(alone, statement, LARGE)).toEqual(['Seq Scan on proxies']);
      await alone.query('ROLLBACK');
    } finally {
      await alone.destroy();
    }
  });

  it('has books that hold, and ends, states and times of all kinds', async () => {
    await service.audit();
    const { dataSource } = service;
    const [history] = await dataSource.query(
      `SELECT count(*) FILTER (WHERE date_end > now()) > 1000 AS "on rent",
              count(*) FILTER (WHERE date_end < now()) > 1000 AS ended,
              count(*) FILTER (WHERE withdrawn_at IS NOT NULL) > 0 AS withdrawn,
              count(DISTINCT (country, version)) > 30 AS kinds
         FROM proxies`,
    );
    expect(history).toEqual({ 'on rent': true, ended: true, withdrawn: true, kinds: true });
    const states = await dataSource.query<{ kind: string }[]>(
      `SELECT DISTINCT kind || ' ' || state AS kind FROM orders WHERE batch_id IS NOT NULL ORDER BY 1`,
    );
    expect(states.map(({ kind }) => kind)).toEqual([
      'prolongation canceled',
      'prolongation completed',
      'prolongation review',
      'purchase canceled',
      'purchase completed',
      'purchase partial',
      'purchase review',
    ]);
  });
});
