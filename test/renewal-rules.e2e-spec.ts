import { TokensService } from '../src/auth';
import { Money } from '../src/common';
import type { ForecastOut } from '../src/renewals/forecast.dto';
import { ruleOfProxySql } from '../src/renewals/rule-of-proxy';
import type { BudgetOut, RenewalRuleOut } from '../src/renewals/rules.dto';
import { fetchAs } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import type { Json } from './support/staff';
import { startTestService, type TestUser } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

const DAY_S = 24 * 3600;
let user: TestUser;
let limited: string;

// Rules would renew proxies that no provider has.
const service = forAllTests(startTestService);
beforeEach(async () => {
  user = await service.createUser({ balance: '1000.00' });
  const dailyLimit = Money.parse('10.00');
  const scopes = ['proxies:read', 'proxies:write'] as const;
  ({ text: limited } = await service.app.get(TokensService).issue({ userId: user.id, scopes, dailyLimit }));
});

const call = (method: string, path: string, body?: object, token = user.token): Promise<Response> =>
  fetchAs({ token }, method, `${service.baseUrl}/renewals${path}`, body);

async function read<Result>(path: string): Promise<Json<Result>> {
  const response = await call('GET', path);
  expect(response.status).toBe(200);
  return (await response.json()) as Json<Result>;
}

const refusalOf = async (response: Response): Promise<[number, unknown]> => [
  response.status,
  ((await response.json()) as { detail: unknown }).detail,
];

async function switchOn(rule: object): Promise<number> {
  const response = await call('POST', '/rules', { period: 30, ...rule });
  expect(response.status).toBe(201);
  return ((await response.json()) as RenewalRuleOut).id;
}

const rulesOn = async (): Promise<number[]> =>
  (await read<{ items: RenewalRuleOut[] }>('/rules')).items.map(({ id }) => id);

/** Undefined if no rule applies, or the proxy is excluded. */
async function rulesOf(...proxyIds: number[]): Promise<(number | undefined)[]> {
  const rows = await service.dataSource.query<{ id: number; rule: number }[]>(
    `SELECT proxies.id, rule.id AS rule FROM proxies JOIN LATERAL (${ruleOfProxySql()}) AS rule ON true
      WHERE proxies.id = ANY ($1)`,
    [proxyIds],
  );
  return proxyIds.map((id) => rows.find((row) => row.id === id)?.rule);
}

const proxy = async (more: { tags?: string[]; country?: string; descr?: string } = {}): Promise<number> => {
  const [id = 0] = await insertProxies(service.owner, user.id, 1, { endsInSeconds: 10 * DAY_S });
  await service.owner.query(
    'UPDATE proxies SET tags = coalesce($2, tags), country = coalesce($3, country), label = $4 WHERE id = $1',
    [id, more.tags ?? null, more.country ?? null, more.descr ?? null],
  );
  return id;
};

describe('Renewal rules', () => {
  it('are none until one is enabled', async () => {
    const id = await proxy();
    expect([await rulesOn(), await rulesOf(id)]).toEqual([[], [undefined]]);
    expect(await read<ForecastOut>('/forecast')).toMatchObject({ covered: 0, not_covered: 1, items: [] });
  });

  it('apply from the narrowest to the widest: the proxy, the newest filter, all', async () => {
    const [own, tagged, other] = [await proxy({ tags: ['a'] }), await proxy({ tags: ['a'] }), await proxy()];
    const all = await switchOn({ target: 'all' });
    const older = await switchOn({ target: 'filter', filter: { tag: 'A' } });
    const one = await switchOn({ target: 'proxy', proxy_id: String(own) });
    expect(await rulesOf(own, tagged, other)).toEqual([one, older, all]);
    const newer = await switchOn({ target: 'filter', filter: { country: 'RU' } });
    expect(await rulesOf(own, tagged, other)).toEqual([one, newer, newer]);
  });

  it('match what all of their filter says, as lists do, at the moment', async () => {
    const rule = await switchOn({
      target: 'filter',
      filter: { country: 'de', label: ' scraper 1 ', tag: 'Team-A' },
    });
    const exact = { country: 'de', descr: 'scraper 1', tags: ['other', 'team-a'] };
    const ids = [
      await proxy(exact),
      await proxy({ ...exact, country: 'ru' }),
      await proxy({ ...exact, descr: 'scraper 10' }),
      await proxy({ ...exact, tags: ['team'] }),
    ];
    expect(await rulesOf(...ids)).toEqual([rule, undefined, undefined, undefined]);
    await service.owner.query(`UPDATE proxies SET tags = '{}' WHERE id = $1`, [ids[0]]);
    expect(await rulesOf(...ids)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('never apply to the proxies of others', async () => {
    const rule = await switchOn({ target: 'all' });
    const mine = await proxy();
    user = await service.createUser();
    expect(await rulesOf(mine, await proxy())).toEqual([rule, undefined]);
    expect(
      (await call('POST', '/rules', { target: 'proxy', proxy_id: String(mine), period: 30 })).status,
    ).toBe(404);
    expect((await call('DELETE', `/rules/${rule}`)).status).toBe(404);
    expect((await call('POST', '/exclusions', { proxy_id: String(mine) })).status).toBe(404);
  });

  it('replace the one with the same target', async () => {
    const id = await proxy({ tags: ['a'] });
    for (const target of [
      { target: 'proxy', proxy_id: String(id) },
      { target: 'filter', filter: { tag: 'a' } },
      { target: 'all' },
    ]) {
      const before = await rulesOn();
      await switchOn({ ...target, max_price: '5.00' });
      const rule = await switchOn({ ...target, max_price: '6.00' });
      expect(await rulesOn()).toEqual([...before, rule]);
    }
  });

  it('are returned with their fields', async () => {
    const response = await call('POST', '/rules', {
      target: 'filter',
      filter: { tag: 'a', country: null },
      period: 14,
      max_price: '12.50',
      hours_before: 48,
    });
    expect(await response.json()).toEqual({
      id: expect.any(Number),
      target: 'filter',
      proxy_id: null,
      filter: { tag: 'a' },
      renews: true,
      period: 14,
      max_price: '12.50',
      hours_before: 48,
      created_at: expect.any(String),
    });
  });

  it.each([
    ['a proxy and a filter', { target: 'proxy', proxy_id: '1', filter: { tag: 'a' } }],
    ['a filter that is empty', { target: 'filter', filter: { tag: null } }],
    ['no filter', { target: 'filter' }],
    ['all and a proxy', { target: 'all', proxy_id: '1' }],
    ['no proxy', { target: 'proxy' }],
  ])('are refused for %s: nothing is enabled by mistake', async (_, rule) => {
    expect((await call('POST', '/rules', { period: 30, ...rule })).status).toBe(400);
    expect(await rulesOn()).toEqual([]);
  });

  it('are refused for a period that the proxy cannot have', async () => {
    const response = await call('POST', '/rules', {
      target: 'proxy',
      proxy_id: String(await proxy()),
      period: 2,
    });
    expect(await refusalOf(response)).toEqual([400, 'Minimum renewal period for IPv6 is 3 days']);
  });

  it('have at most a hundred filters', async () => {
    await service.dataSource.query(
      `INSERT INTO renewal_rules (user_id, tag, period, hours_before)
       SELECT $1, 't' || n, 30, 24 FROM generate_series(1, 99) n`,
      [user.id],
    );
    await switchOn({ target: 'filter', filter: { tag: 't0' } });
    const more = await call('POST', '/rules', { target: 'filter', filter: { tag: 'more' }, period: 30 });
    expect(more.status).toBe(409);
    await switchOn({ target: 'filter', filter: { tag: 't1' } });
    await switchOn({ target: 'all' });
  });

  it('exclude a proxy from wider ones until it has a rule of its own', async () => {
    const [one, other] = [await proxy(), await proxy()];
    const all = await switchOn({ target: 'all' });
    expect((await call('POST', '/exclusions', { proxy_id: String(one) }, limited)).status).toBe(201);
    expect(await rulesOf(one, other)).toEqual([undefined, all]);
    const own = await switchOn({ target: 'proxy', proxy_id: String(one) });
    expect(await rulesOf(one, other)).toEqual([own, all]);
    expect(await rulesOn()).toEqual([all, own]);
  });
});

describe('A token with a daily limit', () => {
  it('disables, and never enables: no limit would count renewals', async () => {
    const response = await call('POST', '/rules', { target: 'all', period: 30 }, limited);
    expect(await refusalOf(response)).toEqual([403, 'A token with a daily limit cannot enable renewals']);
    const [narrow, wide] = [
      await switchOn({ target: 'filter', filter: { tag: 'a' }, max_price: '1.00' }),
      await switchOn({ target: 'all' }),
    ];
    expect((await call('DELETE', `/rules/${narrow}`, undefined, limited)).status).toBe(403);
    expect((await call('DELETE', `/rules/${wide}`, undefined, limited)).status).toBe(204);
    expect((await call('DELETE', `/rules/${narrow}`, undefined, limited)).status).toBe(204);
    expect(await rulesOn()).toEqual([]);
  });

  it('disables everything at once, but no exclusion', async () => {
    const id = await proxy();
    await switchOn({ target: 'filter', filter: { tag: 'a' } });
    await switchOn({ target: 'all' });
    const { id: exclusion } = (await (
      await call('POST', '/exclusions', { proxy_id: String(id) }, limited)
    ).json()) as RenewalRuleOut;
    expect((await call('DELETE', `/rules/${exclusion}`, undefined, limited)).status).toBe(403);
    expect(await (await call('DELETE', '/rules', undefined, limited)).json()).toEqual({ disabled: 2 });
    expect(await rulesOn()).toEqual([exclusion]);
    expect((await call('DELETE', `/rules/${exclusion}`, undefined, limited)).status).toBe(204);
  });

  it('does not hand proxies to an older filter, but may take the older one away', async () => {
    const older = await switchOn({ target: 'filter', filter: { tag: 'a' } });
    const newer = await switchOn({ target: 'filter', filter: { tag: 'b' } });
    expect((await call('DELETE', `/rules/${newer}`, undefined, limited)).status).toBe(403);
    expect((await call('DELETE', `/rules/${older}`, undefined, limited)).status).toBe(204);
    expect((await call('DELETE', `/rules/${newer}`, undefined, limited)).status).toBe(204);
    expect((await call('DELETE', `/rules/${newer}`)).status).toBe(404);
  });

  it('lowers the budget, and does not raise it', async () => {
    const set = async (monthly: string | null, token?: string): Promise<number> =>
      (await call('PUT', '/budget', { monthly }, token)).status;
    expect([await set('100.00', limited), await set('99.99', limited)]).toEqual([200, 200]);
    expect([await set('100.00', limited), await set(null, limited)]).toEqual([403, 403]);
    expect([await set('500.00'), await set(null)]).toEqual([200, 200]);
    expect((await call('PUT', '/budget', {})).status).toBe(422);
  });

  const label = (path: string, body: object, token = limited): Promise<Response> =>
    fetchAs({ token }, 'PATCH', `${service.baseUrl}/proxies${path}`, body);
  const REFUSAL =
    'A token with a daily limit cannot move a proxy to another renewal rule; nothing was changed';

  it('labels no proxy so that another rule or none applies to it, one by one or many', async () => {
    const [none, kept, named] = [await proxy(), await proxy({ tags: ['keep'] }), await proxy({ descr: 'n' })];
    const keep = await switchOn({ target: 'filter', filter: { tag: 'keep' }, period: 365 });
    const name = await switchOn({ target: 'filter', filter: { label: 'n' } });
    for (const [id, body] of [
      [none, { tags: ['Keep'] }],
      [none, { descr: ' n ' }],
      [kept, { tags: [] }],
      [kept, { descr: 'n' }],
      [named, { descr: null, tags: ['keep'] }],
    ] as const) {
      expect(await refusalOf(await label(`/${id}`, body))).toEqual([403, REFUSAL]);
    }
    const other = await proxy();
    for (const body of [
      { proxy_ids: [other, none].map(String), add_tags: ['keep'] },
      { filter: { tag: 'keep' }, remove_tags: ['keep'] },
      { filter: {}, descr: 'n' },
    ]) {
      expect(await refusalOf(await label('', body))).toEqual([403, REFUSAL]);
    }
    expect(await rulesOf(none, kept, named, other)).toEqual([undefined, keep, name, undefined]);
    expect((await label('', { filter: {}, add_tags: ['keep'] }, user.token)).status).toBe(200);
    expect(await rulesOf(none, kept, named, other)).toEqual([keep, keep, name, keep]);
  });

  it('labels proxies to which the same rule, or none, still applies', async () => {
    const [kept, excluded, other] = [await proxy({ tags: ['keep'] }), await proxy(), await proxy()];
    const keep = await switchOn({ target: 'filter', filter: { tag: 'keep' } });
    expect((await call('POST', '/exclusions', { proxy_id: String(excluded) }, limited)).status).toBe(201);
    expect((await label(`/${kept}`, { descr: 'mine', tags: ['keep', 'more'] })).status).toBe(200);
    expect((await label(`/${excluded}`, { tags: ['keep'] })).status).toBe(200);
    expect((await label('', { filter: {}, add_tags: ['new'], descr: 'ours' })).status).toBe(200);
    expect(await rulesOf(kept, excluded, other)).toEqual([keep, undefined, undefined]);
  });
});

describe('The budget', () => {
  withinOneDay();

  it('is used by what was ordered this month', async () => {
    const rule = await switchOn({ target: 'all' });
    await call('PUT', '/budget', { monthly: '100.00' });
    const { month } = await read<BudgetOut>('/budget');
    const renew = async (price: string, chargedAt: string | null, isOld = false): Promise<void> => {
      const id = await proxy();
      if (isOld) await makeOld(id);
      await service.owner.query(
        `INSERT INTO renewals (proxy_id, date_end_before, user_id, rule_id, order_id, state, period, price,
                               due_at, charged_at)
         SELECT id, date_end, user_id, $2, order_id,
                CASE WHEN $4::text IS NULL THEN 'placed' ELSE 'done' END, 30, $3, now(), $4::timestamptz
           FROM proxies WHERE id = $1`,
        [id, rule, price, chargedAt],
      );
    };
    const makeOld = (id: number) =>
      service.owner.transaction(async (owner) => {
        await owner.query('SET LOCAL session_replication_role = replica');
        await owner.query(
          `UPDATE orders SET created_at = created_at - interval '32 days'
            WHERE id = (SELECT order_id FROM proxies WHERE id = $1)`,
          [id],
        );
      });
    await renew('30.00', `${month}-01T00:00:00Z`);
    await renew('20.00', null);
    await renew('500.00', null, true);
    await renew('7.00', new Date(Date.parse(`${month}-01T00:00:00Z`) - 1).toISOString());
    expect(await read<BudgetOut>('/budget')).toEqual({
      monthly: '100.00',
      month,
      spent: '50.00',
      left: '50.00',
      paused: false,
    });
    await call('PUT', '/budget', { monthly: '40.00' });
    expect(await read<BudgetOut>('/budget')).toMatchObject({ spent: '50.00', left: '0.00' });
    const { items } = await read<{ items: { price: string; state: string }[] }>('');
    expect(items.map(({ price, state }) => [price, state])).toEqual([
      ['7.00', 'done'],
      ['500.00', 'placed'],
      ['20.00', 'placed'],
      ['30.00', 'done'],
    ]);
  });
});

describe('The forecast', () => {
  async function quoted(period: number): Promise<Money> {
    const { data } = await user.api.GET('/price', { params: { query: { count: 1, period } } });
    return Money.parse(data?.price_single ?? '');
  }

  it('returns each renewal at the price of a quote, and what is left day by day', async () => {
    const id = await proxy();
    const rule = await switchOn({ target: 'all', period: 60 });
    const price = await quoted(60);
    const { items, by_day, totals, ...rest } = await read<ForecastOut>('/forecast');
    expect(items).toEqual([
      {
        proxy_id: String(id),
        rule_id: rule,
        at: expect.stringMatching(/:00:00\.000Z$/),
        date_end: expect.any(String),
        renewed: true,
        reason: null,
        period: 60,
        price: price.toString(),
        new_date_end: expect.any(String),
      },
      expect.objectContaining({ renewed: true, date_end: items[0]?.new_date_end }),
    ]);
    expect(totals).toEqual({ renewals: 2, cost: price.times(2).toString(), not_renewed: 0 });
    expect(by_day.map(({ available }) => available)).toEqual([
      Money.parse('1000.00').minus(price).toString(),
      Money.parse('1000.00').minus(price.times(2)).toString(),
    ]);
    expect(rest).toMatchObject({
      available: '1000.00',
      covered: 1,
      not_covered: 0,
      balance_lasts_until: null,
    });
  });

  it('names the reason of each that will not be renewed', async () => {
    const [expensive, withdrawn, excluded] = [await proxy(), await proxy(), await proxy()];
    const refunding = await proxy();
    await service.owner.query(
      `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, next_check_at)
       SELECT id, user_id, order_id, 'staff', 'undecided', NULL FROM proxies WHERE id = $1`,
      [refunding],
    );
    await service.owner.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [withdrawn]);
    await switchOn({ target: 'all', max_price: '0.01' });
    await call('POST', '/exclusions', { proxy_id: String(excluded) });
    const { items, reasons, covered, not_covered } = await read<ForecastOut>('/forecast');
    expect(items.map(({ proxy_id, reason }) => [proxy_id, reason])).toEqual([
      [String(expensive), 'price-above-max'],
      [String(withdrawn), 'proxy-withdrawn'],
      [String(refunding), 'refund-open'],
    ]);
    expect(reasons).toEqual([
      { reason: 'price-above-max', rentals: 1 },
      { reason: 'proxy-withdrawn', rentals: 1 },
      { reason: 'refund-open', rentals: 1 },
    ]);
    expect([covered, not_covered]).toEqual([2, 1]);
  });

  it('shows the same balance as the usage if all is renewed for the period that was rented', async () => {
    const price = await quoted(30);
    const ids = await insertProxies(service.owner, user.id, 3, { endsInSeconds: 10 * DAY_S });
    user = await service.createUser({ balance: price.times(4).toString() });
    await service.owner.query('ALTER TABLE proxies DISABLE TRIGGER proxies_keep_references');
    await service.owner.query('UPDATE proxies SET user_id = $1 WHERE id = ANY ($2)', [user.id, ids]);
    await service.owner.query('ALTER TABLE proxies ENABLE TRIGGER proxies_keep_references');
    await switchOn({ target: 'all', period: 30 });
    const { data } = await user.api.GET('/usage');
    const { items, balance_lasts_until: lastsUntil } = await read<ForecastOut>('/forecast');
    expect(lastsUntil).toBe(data?.rentals.balance_lasts_until);
    expect(lastsUntil).toBe(items[3]?.date_end.slice(0, 10));
  });

  it('counts an open prolongation as executed', async () => {
    const id = (await user.buy()).data?.proxies[0]?.id ?? '';
    await switchOn({ target: 'all', period: 30 });
    const [first] = (await read<ForecastOut>('/forecast')).items;
    const gate = await service.control.addGate({ method: 'prolong', stage: 'executed' });
    const prolonged = user.prolong(id);
    await service.control.untilGateReached(gate);
    const [next] = (await read<ForecastOut>('/forecast')).items;
    expect(next).toMatchObject({ proxy_id: id, date_end: first?.new_date_end });
    await service.control.openGate(gate);
    expect((await prolonged).response.status).toBe(200);
    expect((await read<ForecastOut>('/forecast')).items[0]).toEqual(next);
  });

  it('is paged, with the sums of all on each page', async () => {
    await insertProxies(service.owner, user.id, 5, { endsInSeconds: 10 * DAY_S });
    await switchOn({ target: 'all', period: 30 });
    const whole = await read<ForecastOut>('/forecast?days=30');
    const first = await read<ForecastOut>('/forecast?days=30&limit=3');
    const last = await read<ForecastOut>(`/forecast?days=30&limit=3&cursor=${first.next_cursor}`);
    expect([...first.items, ...last.items]).toEqual(whole.items);
    expect([last.next_cursor, last.totals]).toEqual([null, whole.totals]);
  });

  it('reports renewals that staff have paused', async () => {
    await proxy();
    await switchOn({ target: 'all' });
    await service.owner.query(
      `INSERT INTO renewal_settings (user_id, paused_at, paused_reason) VALUES ($1, now(), 'test')`,
      [user.id],
    );
    expect((await read<ForecastOut>('/forecast')).reasons).toEqual([{ reason: 'paused', rentals: 1 }]);
    expect((await read<BudgetOut>('/budget')).paused).toBe(true);
  });
});
