import { DataSource } from 'typeorm';
import { type Seeded, seedDatabase } from '../bench/support/seeding';
import { dataSourceOptions } from '../src/database';
import { SweepService } from '../src/orders';
import { UpstreamProvider } from '../src/provider';
import { ActiveFlagsService } from '../src/proxies';
import { StatusService } from '../src/status';
import { createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { findWholeReads, recordStatements, type SentStatement } from './support/statement-plans';
import { startTestService, type TestService, type TestUser } from './support/test-service';

/** Tables that grow with the business: no statement of the service may read one of them from end to end. */
const LARGE = ['users', 'accounts', 'api_tokens', 'orders', 'proxies', 'ledger_entries', 'upstream_calls'];

/** Told by a part of their text: without these the rest would prove nothing. */
const HOT: Readonly<Record<string, string>> = {
  'the caller behind a token': 'WHERE token_hash = $1',
  'the profile': 'FROM users u JOIN accounts a',
  'the list of proxies': 'WHERE (("Proxy"."user_id" = $1)) ORDER BY',
  'a batch of an export': '("Proxy"."id" > $2)',
  'one proxy': '(("Proxy"."id" = $1) AND ("Proxy"."user_id" = $2))',
  'what an order delivered': '"Proxy"."order_id" = $1',
  'an earlier order by its key': '"Order"."idempotency_key" = $2',
  'placing an order': `'hold', id, -held`,
  'an order': 'WHERE (("Order"."id" = $1))',
  'the next orders of the line': 'company AS',
  'delivering a purchase': 'handed AS MATERIALIZED',
  'giving money back': `'release', id, held, -held`,
  'what is due for a look': 'due AS MATERIALIZED',
  'what is open of groups': 'sent AS (SELECT * FROM orders WHERE group_id = ANY',
  'a proxy at the upstream': 'AS tag, p.provider_proxy_id',
  'the ends before prolongations': 'SET date_end_before',
  'delivering a prolongation': 'prolonged AS',
  'changes in a page of the sweep': 'SET host = listed.host',
  'orphans in a page of the sweep': 'INSERT INTO orphans',
  'what the sweep has not seen': 'SET absences = absences + 1',
  'flags of what has ended': 'active AND date_end <= now()',
  'flags of what has not': 'NOT active AND withdrawn_at IS NULL',
};

describe('with many users, orders and proxies', () => {
  let service: TestService;
  let databaseUrl: string;
  let seeded: Seeded;
  let sent: ReadonlyMap<string, SentStatement>;

  beforeAll(async () => {
    service = await startTestService({
      environment: { SWEEP_INTERVAL_SECONDS: '86400', ACTIVE_FLAGS_INTERVAL_SECONDS: '86400' },
      prepareDatabase: async (url) => {
        databaseUrl = url;
        seeded = await seedDatabase({
          databaseUrl: url,
          users: 3000,
          entriesPerUser: 10,
          proxiesPerUser: 50,
          seed: 1,
        });
      },
    });
    sent = recordStatements(service.dataSource);
    await useEverything();
  }, 60_000);
  afterAll(() => service.close());

  const prolong = (user: TestUser, proxyId: string) =>
    user.api.POST('/proxies/{proxy_id}/prolong', {
      params: { path: { proxy_id: proxyId } },
      body: { period: 30 },
    });

  async function useEverything(): Promise<void> {
    const user: TestUser = {
      id: seeded.sample.userId,
      token: seeded.sample.token,
      api: createApiClient(service.baseUrl, seeded.sample.token),
    };
    const buy = (key: string) =>
      user.api.POST('/proxies/buy', {
        body: { country: 'ru', period: 30, count: 3 },
        params: { header: { 'Idempotency-Key': key } },
      });
    await user.api.GET('/me');
    await user.api.GET('/proxies');
    for (const query of [{}, { proxy_type: 'socks', active_only: true }] as const)
      await user.api.GET('/proxies/export', { params: { query: { format: 'json', ...query } } });
    await buy('once');
    await buy('once');
    const { data } = await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
    await prolong(user, data?.proxies[0]?.id ?? '');
    await service.control.orderFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy('refused');
    await service.control.orderFault({ method: 'buy', kind: 'answer-lost' });
    await service.control.orderFault({ method: 'getproxy', kind: 'hang' });
    await buy('lost');
    const open = await service.balanceOf(user);
    await eventually(async () => (await service.balanceOf(user)).held !== open.held || open.held === '0.00');
    await service.app.get(SweepService).sweepWhenDue(0);
    await service.app.get(ActiveFlagsService).refreshWhenDue(0);
    await new StatusService(service.dataSource, service.app.get(UpstreamProvider)).read();
  }

  it.each(Object.entries(HOT))('the service asks for %s', (_, part) => {
    expect([...sent.keys()].filter((text) => text.includes(part))).not.toEqual([]);
  });

  it('reads none of the large tables from end to end', async () => {
    const found: Record<string, string[]> = {};
    for (const statement of sent.values()) {
      const wholeReads = await findWholeReads(service.dataSource, statement, LARGE);
      if (wholeReads.length > 0) found[statement.text] = wholeReads;
    }
    expect(found).toEqual({});
  });

  it('would be seen to read one, were an index missing', async () => {
    const list = [...sent.values()].find(({ text }) => text.includes(HOT['the list of proxies'] ?? ''));
    const alone = await new DataSource({
      ...dataSourceOptions({
        url: databaseUrl,
        poolSize: 1,
        applicationName: 'test',
      }),
    }).initialize();
    try {
      await alone.query('BEGIN; DROP INDEX proxies_user_id_idx');
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
      `SELECT DISTINCT kind || ' ' || state AS kind FROM orders WHERE group_id IS NOT NULL ORDER BY 1`,
    );
    expect(states.map(({ kind }) => kind)).toEqual([
      'prolongation completed',
      'prolongation refunded',
      'prolongation review',
      'purchase completed',
      'purchase partial',
      'purchase refunded',
      'purchase review',
    ]);
  });
});
