import { type PricePreviewOut, PricePreviewService } from '../src/catalog';
import { Money, unitPriceWithMarkup } from '../src/common';
import { MarkupHistoryService, type NewPriceRule, type PriceRule, PriceRulesService } from '../src/pricing';
import { type ApiClient, createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { borrowed, forAllTests, forEachTest } from './support/fixtures';
import { PriceLead } from './support/price-lead';
import { type Replica, startReplica } from './support/replica';
import { startTestService, type TestUser } from './support/test-service';

const BY = { by: 'anna', reason: 'test' };
let priceLead: PriceLead;

// Some rules apply to all users, and prices are fetched again after the clock has advanced.
const service = forAllTests(startTestService);
const rules = forAllTests(() => service.app.get(PriceRulesService), borrowed);
const history = forAllTests(() => service.app.get(MarkupHistoryService), borrowed);
beforeAll(() => {
  priceLead = new PriceLead(service);
});

const user = forEachTest(() => service.createUser({ balance: '100000.00' }));
beforeEach(() => service.control.setPrice('6', 30, '20.90'));

afterEach(async () => {
  const open = await service.dataSource.query<{ id: number }[]>(
    'SELECT id FROM price_rules WHERE user_id IS NULL AND valid_to IS NULL',
  );
  for (const { id } of open) await rules.end(id, BY);
  await priceLead.applyChanges();
});

async function add(rule: NewPriceRule, replaces?: number): Promise<PriceRule> {
  const added = await rules.add(rule, BY, replaces);
  await priceLead.applyChanges();
  return added;
}

interface Offer {
  readonly count?: number;
  readonly period?: number;
  readonly version?: '6' | '4' | '4s';
}

async function quote(api: ApiClient, { count = 1, period = 30, version = '6' }: Offer = {}) {
  const { data, error } = await api.GET('/price', { params: { query: { count, period, version } } });
  if (!data) throw new Error(JSON.stringify(error));
  return data;
}

async function buy(buyer: TestUser, offer: Offer & { country?: string } = {}) {
  const { data, error } = await buyer.buy(offer);
  if (!data) throw new Error(JSON.stringify(error));
  return data;
}

async function priceOf(orderId: number | null | undefined) {
  const [order] = await service.dataSource.query<
    { unit_price: string; markup_percent: string; price_rule_id: number | null }[]
  >('SELECT unit_price, markup_percent, price_rule_id FROM orders WHERE id = $1', [orderId]);
  return order;
}

describe('A rule for a user', () => {
  it('sets what the user is quoted and charged, to the kopeck, and nothing for others', async () => {
    const other = await service.createUser();
    const rule = await add({ userId: user.id, markupPercent: '7.3333' });
    expect(unitPriceWithMarkup('20.90', 1, '7.3333').toString()).toBe('22.44');

    expect(await quote(user.api, { count: 3 })).toMatchObject({
      price_single: '22.44',
      price_final: '67.32',
    });
    const order = await buy(user, { count: 3 });
    expect(order.price_charged).toBe('67.32');
    expect(await priceOf(order.order_id)).toEqual({
      unit_price: '22.44',
      markup_percent: '7.3333',
      price_rule_id: rule.id,
    });

    expect((await quote(other.api)).price_final).toBe('25.08');
    const ordinary = await buy(other);
    expect(ordinary.price_charged).toBe('25.08');
    expect(await priceOf(ordinary.order_id)).toEqual({
      unit_price: '25.08',
      markup_percent: '20.0000',
      price_rule_id: null,
    });
    await service.audit();
  });

  it('applies to prolongations, too', async () => {
    const { proxies } = await buy(user);
    const rule = await add({
      userId: user.id,
      version: '6',
      minPeriod: 30,
      maxPeriod: 30,
      markupPercent: '0',
    });
    const { data } = await user.prolong(proxies[0]?.id ?? '');
    expect(data?.price_charged).toBe('20.90');
    expect(data?.price_charged).toBe((await quote(user.api)).price_final);
    expect(await priceOf(data?.order_id)).toMatchObject({ price_rule_id: rule.id });
    expect((await quote(user.api, { period: 7 })).price_final).toBe('6.62');
  });

  it.each([
    ['0.01', '0.0001', '0.02'],
    ['0.01', '0', '0.01'],
    ['33.33', '200.0003', '100.00'],
    ['10.00', '9999.9999', '1010.00'],
  ])('rounds %s with a markup of %s up to %s', async (provider, markupPercent, single) => {
    await service.control.setPrice('6', 77, provider);
    service.clock.advanceSeconds(61);
    await add({ userId: user.id, markupPercent });
    const quoted = await quote(user.api, { period: 77, count: 10 });
    expect(quoted.price_single).toBe(single);
    expect(quoted.price_final).toBe(Money.parse(single).times(10).toString());
    expect((await buy(user, { period: 77, count: 10 })).price_charged).toBe(quoted.price_final);
  });
});

describe('A rule for a country', () => {
  it('makes an order for that country cheaper than its quote', async () => {
    const rule = await add({ country: 'US', markupPercent: '10' });
    expect((await quote(user.api)).price_final).toBe('25.08');
    const cheaper = await buy(user, { country: 'us' });
    expect(cheaper.price_charged).toBe('22.99');
    expect(await priceOf(cheaper.order_id)).toMatchObject({ price_rule_id: rule.id });
    expect((await buy(user, { country: 'ru' })).price_charged).toBe('25.08');

    expect((await user.prolong(cheaper.proxies[0]?.id ?? '')).data?.price_charged).toBe('22.99');
  });

  it('does not make an order more expensive than its quote', async () => {
    await add({ country: 'us', markupPercent: '50' });
    const order = await buy(user, { country: 'us' });
    expect(order.price_charged).toBe('25.08');
    expect(await priceOf(order.order_id)).toMatchObject({ markup_percent: '20.0000', price_rule_id: null });
  });
});

describe('The history of the rules', () => {
  it('returns the markup that applied at a moment, also after later changes', async () => {
    const offer = { userId: user.id, country: null, version: '6', period: 30 } as const;
    const first = await rules.add({ userId: user.id, markupPercent: '15' }, BY);
    const second = await rules.add(
      { userId: user.id, markupPercent: '12', validFrom: new Date(first.validFrom.getTime() + 60_000) },
      { by: 'boris', reason: 'a better offer' },
      first.id,
    );
    const atRuleBegin = async (moment: Date, ms: number) => {
      const { percent, ruleId } = await history.heldAt(offer, new Date(moment.getTime() + ms));
      return [percent, ruleId];
    };
    expect(await atRuleBegin(first.validFrom, -1)).toEqual(['20.0000', null]);
    expect(await atRuleBegin(first.validFrom, 0)).toEqual(['15.0000', first.id]);
    expect(await atRuleBegin(second.validFrom, -1)).toEqual(['15.0000', first.id]);
    expect(await atRuleBegin(second.validFrom, 0)).toEqual(['12.0000', second.id]);
    expect(await rules.get(first.id)).toMatchObject({
      createdBy: 'anna',
      validTo: second.validFrom,
      endedBy: 'boris',
      endReason: 'a better offer',
    });

    await rules.end(second.id, BY);
    expect(await atRuleBegin(second.validFrom, 0)).toEqual(['20.0000', null]);
  });

  it('includes the default, which replicas record when they start, and read the rules then', async () => {
    const offer = { userId: null, country: null, version: '6', period: 30 } as const;
    const before = await history.heldAt(offer);
    const replica = await startReplica(service, { pricing: { markupPercent: '35' } });
    const after = await history.heldAt(offer);
    expect([before.percent, after.percent]).toEqual(['20.0000', '35.0000']);
    await replica.close();
    await service.dataSource.query(
      `INSERT INTO price_rules (user_id, markup_percent, valid_from, created_by, reason)
       VALUES ($1, 0, clock_timestamp(), 'test', 'test')`,
      [user.id],
    );
    const last = await startReplica(service);
    const { price_final: first } = await quote(createApiClient(last.baseUrl, user.token));
    await last.close();
    expect(first).toBe('20.90');
    const now = await history.heldAt(offer);
    expect([(await history.heldAt(offer, after.at)).percent, now.percent]).toEqual(['35.0000', '20.0000']);
  });

  it('is protected by the database: a rule is ended once, and never in the past', async () => {
    const { id } = await add({ userId: user.id, markupPercent: '5' });
    const update = (change: string) =>
      service.dataSource.query(`UPDATE price_rules SET ${change} WHERE id = $1`, [id]);
    const ending = `ended_at = now(), ended_by = 'x', end_reason = 'x'`;
    for (const change of [
      'markup_percent = 1',
      `markup_percent = 1, valid_to = now() + interval '1 s', ${ending}`,
      `valid_to = now() - interval '100 ms', ${ending}`,
      `reason = 'another', valid_to = now() + interval '1 s', ${ending}`,
    ]) {
      await expect(update(change)).rejects.toThrow('a price rule is ended once');
    }
    await rules.end(id, BY);
    await expect(update(`valid_to = now() + interval '1 day', ${ending}`)).rejects.toThrow('is ended once');
    for (const statement of [
      'DELETE FROM price_rules',
      'TRUNCATE price_rules',
      'DELETE FROM default_markups',
    ]) {
      await expect(service.owner.query(statement)).rejects.toThrow('is not allowed');
    }
  });
});

describe('A preview', () => {
  const preview = (change: Parameters<PricePreviewService['preview']>[0]): Promise<PricePreviewOut> =>
    service.app.get(PricePreviewService).preview(change);

  beforeEach(() => quote(user.api));

  it('shows the prices that hold after the change is made', async () => {
    await add({ country: 'us', markupPercent: '5' });
    const change = { userId: user.id, markupPercent: '11.1111' };
    const { offers } = await preview({ add: change });
    await add(change);
    for (const period of [7, 30]) {
      const offer = offers.find(
        (one) => one.version === '6' && one.period === period && one.country === null,
      );
      expect((await quote(user.api, { period })).price_single).toBe(offer?.after.unit_price);
    }
    const inUs = offers.find((one) => one.version === '6' && one.period === 30 && one.country === 'us');
    expect((await buy(user, { country: 'us' })).price_charged).toBe(inUs?.after.unit_price);
  });

  it('shows a country that does not become more expensive, without versions not on sale there', async () => {
    const { changed, offers } = await preview({ add: { country: 'us', markupPercent: '50' } });
    expect([changed, new Set(offers.map(({ country }) => country))]).toEqual([0, new Set(['us'])]);
    await user.api.GET('/countries', { params: { query: { version: '6' } } });
    expect((await preview({ add: { country: 'zz', version: '6', markupPercent: '1' } })).offers).toEqual([]);
  });

  it('compares the prices at the moment when the rule begins', async () => {
    const validFrom = new Date(Date.now() + 3_600_000);
    await rules.add({ userId: user.id, version: '6', markupPercent: '1', validFrom }, BY);
    const later = await preview({
      add: { userId: user.id, version: '6', maxPeriod: 3, markupPercent: '2', validFrom },
    });
    expect([later.at, later.offers[0]?.before.markup_percent]).toEqual([validFrom, '1.0000']);
  });
});

describe('Two replicas', () => {
  let replica: Replica;

  beforeAll(async () => {
    priceLead.restore();
    replica = await startReplica(service);
  });
  afterAll(async () => {
    await replica.close();
    priceLead = new PriceLead(service);
  });

  it('follow a rule 1.5 s after it is written, or when it begins if that is later', async () => {
    const apis = [user.api, createApiClient(replica.baseUrl, user.token)];
    const seen = async () => {
      const requestedMs = performance.now();
      const prices = await Promise.all(apis.map(async (api) => (await quote(api)).price_final));
      return { requestedMs, respondedMs: performance.now(), prices };
    };
    const changesTo = (price: string) =>
      eventually(async () => {
        const { prices, ...times } = await seen();
        return prices.every((one) => one === price) && times;
      });
    await seen();

    const writtenMs = performance.now();
    const { id } = await rules.add({ userId: user.id, markupPercent: '0' }, BY);
    const { requestedMs, respondedMs } = await changesTo('20.90');
    expect(respondedMs - writtenMs).toBeGreaterThan(1490);
    expect(requestedMs - writtenMs).toBeLessThan(10_000);

    const validFrom = new Date(Date.now() + 2200);
    await rules.add({ userId: user.id, markupPercent: '100', validFrom }, BY, id);
    const before: string[] = [];
    await eventually(async () => {
      const { prices } = await seen();
      const isBefore = (await rules.readRevision()).now < validFrom;
      if (isBefore) before.push(...prices);
      return !isBefore;
    });
    expect(new Set(before)).toEqual(new Set(['20.90']));
    await changesTo('41.80');
  });
});

describe('The number of rules', () => {
  /** Bypasses the triggers, because ended rules count until their end takes effect. */
  afterEach(() =>
    service.owner.transaction(async (owner) => {
      await owner.query('SET LOCAL session_replication_role = replica');
      await owner.query('DELETE FROM price_rules WHERE user_id = $1', [user.id]);
    }),
  );

  it('is limited, except for rules that replace another', async () => {
    const [first] = await service.dataSource.query<{ id: number }[]>(
      `INSERT INTO price_rules (user_id, min_period, markup_percent, valid_from, created_by, reason)
       SELECT $1, 1 + n % 3000, 1, clock_timestamp(), 'test', 'test' FROM generate_series(1, 10000) AS n
       RETURNING id`,
      [user.id],
    );
    await expect(rules.add({ markupPercent: '1' }, BY)).rejects.toThrow(
      'There are already 10000 price rules',
    );
    await rules.add({ userId: user.id, markupPercent: '0' }, BY, first?.id);
    await priceLead.applyChanges();
    expect((await quote(user.api, { period: 30 })).price_final).toBe('21.11');
  });
});
