import type { ActionOut } from '../src/staff/audit-log/audit-log.dto';
import type { AddedPriceRuleOut, PriceRuleOut, PriceRulesPage } from '../src/staff/prices/staff-prices.dto';
import { forAllTests, forEachTest } from './support/fixtures';
import { PriceLead } from './support/price-lead';
import { createStaff, type Json } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService } from './support/test-service';

type Rule = Json<PriceRuleOut>;
type Added = Json<AddedPriceRuleOut>;
type Rules = Json<PriceRulesPage>;
type Action = Json<ActionOut>;

const REASON = { reason: 'test' };

// Some rules are for all users.
const service = forAllTests(startTestService);
const prices = forAllTests(() => new PriceLead(service));
const staff = forAllTests(() => createStaff(service, ['staff:system', 'staff:audit']));
const user = forEachTest(() => service.createUser({ balance: '100000.00' }));
beforeEach(async () => {
  await service.control.setPrice('6', 30, '20.90');
});

async function add(rule: object): Promise<Rule> {
  const { status, body } = await staff.post<Added>('/staff/price-rules', { ...rule, ...REASON });
  expect([status, body]).toEqual([201, expect.any(Object)]);
  const { preview: _preview, ...added } = body;
  return added;
}

const lastAction = async (rule: Rule): Promise<Action | undefined> =>
  (
    await staff.get<{ items: Action[] }>(
      `/staff/actions?user_id=${staff.id}&target=price-rule:${rule.id}&limit=1`,
    )
  ).body.items[0];

async function quoted(): Promise<string | undefined> {
  const { data } = await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
  return data?.price_final;
}

async function charged(): Promise<string | undefined> {
  const { data } = await user.buy({ count: 1, version: '6', proxy_type: 'http' });
  return data?.price_charged;
}

describe('A price rule', () => {
  it('sets what is quoted and charged from its beginning until it is ended', async () => {
    expect(await quoted()).toBe('25.08');
    const rule = await add({ user_id: user.id, version: '6', max_period: 30, markup_percent: '7.3333' });
    expect(rule).toEqual({
      id: expect.any(Number),
      user_id: user.id,
      username: 'test',
      country: null,
      version: '6',
      min_period: null,
      max_period: 30,
      markup_percent: '7.3333',
      valid_from: expect.any(String),
      valid_to: null,
      created_at: expect.any(String),
      created_by: `test (${staff.id})`,
      reason: 'test',
      ended_at: null,
      ended_by: null,
      end_reason: null,
    });
    await prices.applyChanges();
    expect([await quoted(), await charged()]).toEqual(['22.44', '22.44']);
    const { status, body: ended } = await staff.post<Rule>(`/staff/price-rules/${rule.id}/end`, {
      reason: 'over',
    });
    expect([status, ended]).toEqual([
      200,
      {
        ...rule,
        valid_to: expect.any(String),
        ended_at: expect.any(String),
        ended_by: `test (${staff.id})`,
        end_reason: 'over',
      },
    ]);
    await prices.applyChanges();
    expect([await quoted(), await charged()]).toEqual(['25.08', '25.08']);
    expect((await staff.get(`/staff/price-rules/${rule.id}`)).body).toEqual(ended);
  });

  it('for a country shows where it applies and is refused where it never does', async () => {
    await quoted();
    const rule = { user_id: user.id, country: 'us', version: '6', min_period: 30, max_period: 30, ...REASON };
    const dear = await staff.post('/staff/price-rules', { ...rule, markup_percent: '50' });
    expect([dear.status, dear.body]).toEqual([
      400,
      {
        detail: expect.stringMatching(
          /^A rule for a country applies only where .* set by the default markup \(/,
        ),
        code: 'price-rule-without-effect',
      },
    ]);
    const { body } = await staff.post<Added>('/staff/price-rules', { ...rule, markup_percent: '5' });
    expect(body.preview).toMatchObject({
      changed: 1,
      offers: [{ country: 'us', period: 30, before: { by: 'default' }, after: { by: 'new' } }],
    });
    // The quote becomes cheaper than the rule for the country.
    const cheap = await add({ user_id: user.id, version: '6', markup_percent: '1' });
    const which = `user_id=${user.id}&country=us&period=30&at=${encodeURIComponent(cheap.valid_from)}`;
    expect((await staff.get(`/staff/price-rules/which?${which}`)).body).toMatchObject({
      rule: { id: cheap.id },
      dearer_rule: { id: body.id },
    });
  });

  it('is recorded when it is added, replaced and ended', async () => {
    const first = await add({ user_id: user.id, markup_percent: '10' });
    expect(await lastAction(first)).toMatchObject({
      action: 'prices.add',
      reason: 'test',
      before: null,
      after: first,
    });
    const second = await add({ user_id: user.id, country: 'US', markup_percent: '5', replaces: first.id });
    expect(await lastAction(second)).toMatchObject({ action: 'prices.add', before: first, after: second });
    expect((await staff.get<Rule>(`/staff/price-rules/${first.id}`)).body.valid_to).toBe(second.valid_from);

    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { body: ended } = await staff.post<Rule>(`/staff/price-rules/${second.id}/end`, {
      at,
      reason: 'over',
    });
    expect(ended.valid_to).toBe(at);
    expect(await lastAction(second)).toMatchObject({
      action: 'prices.end',
      target: { type: 'price-rule', id: String(second.id) },
      reason: 'over',
      before: second,
      after: ended,
    });
  });

  it('is listed newest first, each once, and with the history when requested', async () => {
    const rules: Rule[] = [];
    for (const markup of ['1', '2', '3']) rules.push(await add({ user_id: user.id, markup_percent: markup }));
    const [first, second, third] = rules.map(({ id }) => id);
    const validFrom = new Date(Date.now() + 3_600_000).toISOString();
    const givenUp = await add({ user_id: user.id, markup_percent: '4', valid_from: validFrom });
    await staff.post(`/staff/price-rules/${givenUp.id}/end`, REASON);
    const list = async (query: string) => {
      const { items, next_cursor: cursor } = (
        await staff.get<Rules>(`/staff/price-rules?user_id=${user.id}&${query}`)
      ).body;
      return [items.map(({ id }) => id), cursor];
    };
    expect(await list('')).toEqual([[third, second, first], null]);
    expect(await list('history=true')).toEqual([[givenUp.id, third, second, first], null]);
    expect(await list('limit=2')).toEqual([[third, second], second]);
    expect(await list(`limit=2&cursor=${second}`)).toEqual([[first], null]);
  });

  it.each<[body: object, status: number]>([
    [{ markup_percent: '5' }, 422],
    [{ ...REASON }, 422],
    [{ markup_percent: '-1', ...REASON }, 422],
    [{ markup_percent: '1.00001', ...REASON }, 422],
    [{ markup_percent: 5, ...REASON }, 422],
    [{ markup_percent: '5', country: 'r1', ...REASON }, 422],
    [{ markup_percent: '5', version: '3', ...REASON }, 422],
    [{ markup_percent: '5', min_period: 0, ...REASON }, 422],
    [{ markup_percent: '5', max_period: 3651, ...REASON }, 422],
    [{ markup_percent: '5', valid_from: '2099-01-01T00:00:00', ...REASON }, 422],
    [{ markup_percent: '5', min_period: 31, max_period: 30, ...REASON }, 400],
    [{ markup_percent: '5', valid_from: '2020-01-01T00:00:00Z', ...REASON }, 400],
    [{ markup_percent: '5', valid_to: '2020-01-01T00:00:00Z', ...REASON }, 400],
    [{ markup_percent: '5', user_id: 999_999, ...REASON }, 404],
    [{ markup_percent: '5', replaces: 999_999, ...REASON }, 404],
  ])('is refused, and changes nothing, when it is %j', async (body, status) => {
    const count = async () => (await service.dataSource.query('SELECT count(*) FROM price_rules'))[0];
    const before = await count();
    expect((await staff.post('/staff/price-rules', body)).status).toBe(status);
    expect(await count()).toEqual(before);
  });

  it('is neither added nor ended by the member of staff whom it is for', async () => {
    const { id } = staff;
    const refused = {
      status: 403,
      body: { detail: 'Staff cannot do this for their own account: ask a colleague' },
    };
    const own = { user_id: id, markup_percent: '1', ...REASON };
    expect(await staff.post('/staff/price-rules', own)).toMatchObject(refused);
    const colleague = await createStaff(service, ['staff:system']);
    const { body: rule } = await colleague.post<Rule>('/staff/price-rules', own);
    expect(await staff.post(`/staff/price-rules/${rule.id}/end`, REASON)).toMatchObject(refused);
    const replacement = { user_id: user.id, markup_percent: '5', replaces: rule.id, ...REASON };
    expect(await staff.post('/staff/price-rules', replacement)).toMatchObject(refused);
    expect((await colleague.post(`/staff/price-rules/${rule.id}/end`, REASON)).status).toBe(200);
  });

  it('is ended once', async () => {
    expect((await staff.post('/staff/price-rules/999999/end', REASON)).status).toBe(404);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const own = await add({ user_id: user.id, markup_percent: '5', valid_to: soon });
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const refusal = { detail: 'The price rule has already ended, or is set to end earlier' };
    const end = async (body: object) => {
      const response = await staff.post(`/staff/price-rules/${own.id}/end`, { ...body, ...REASON });
      return [response.status, response.body];
    };
    expect(await end({ at: later })).toMatchObject([409, refusal]);
    expect(await end({ at: '2020-01-01T00:00:00Z' })).toEqual([400, expect.any(Object)]);
    expect(await end({ at: new Date(Date.now() + 1_800_000).toISOString() })).toEqual([
      200,
      expect.any(Object),
    ]);
    // Although it still applies.
    expect(await end({})).toMatchObject([409, refusal]);
    const replacement = { user_id: user.id, markup_percent: '1', replaces: own.id, ...REASON };
    expect(await staff.post('/staff/price-rules', replacement)).toMatchObject({ status: 409, body: refusal });
  });
});

describe('A change that has to wait', () => {
  const change = () =>
    staff.post<Rule & { detail: string }>('/staff/price-rules', {
      user_id: user.id,
      markup_percent: '5',
      ...REASON,
    });

  /** Holds a lock until the change waits for it, and for this long afterwards. */
  async function changeAgainst(lock: string, ms: number) {
    const held = await lockRow(service.owner, lock);
    const changing = change();
    await untilWaiting(service.owner, '');
    await service.owner.query('SELECT pg_sleep($1)', [ms / 1000]);
    const [{ now: unlockedAt }] = await service.dataSource.query('SELECT clock_timestamp() AS now');
    await held.release();
    return { ...(await changing), unlockedAt };
  }

  it('for another change begins a second after it could be made', async () => {
    const { status, body, unlockedAt } = await changeAgainst(
      'SELECT FROM price_rules_revision FOR UPDATE',
      1500,
    );
    expect(status).toBe(201);
    expect(new Date(body.valid_from).getTime() - unlockedAt.getTime()).toBeGreaterThanOrEqual(1000);
  });

  it('for too long before its commit is neither made nor recorded', async () => {
    const { status, body } = await changeAgainst('LOCK TABLE audit_log IN SHARE MODE', 1000);
    expect([status, body.detail]).toEqual([
      409,
      expect.stringContaining('The change could not reach all replicas'),
    ]);
    const rules = await staff.get<Rules>(`/staff/price-rules?history=true&user_id=${user.id}`);
    expect(rules.body.items).toEqual([]);
    const actions = await staff.get<{ items: Action[] }>(
      `/staff/actions?user_id=${staff.id}&action=prices.add&limit=1`,
    );
    expect(actions.body.items[0]?.after ?? {}).not.toMatchObject({ user_id: user.id });
  });
});

describe('A preview', () => {
  const preview = (body: object) =>
    staff.post<{ changed: number; offers: readonly Record<string, unknown>[]; detail: unknown }>(
      '/staff/price-rules/preview',
      body,
    );
  const SCOPE = { version: '6', min_period: 30, max_period: 30 };

  it('shows what the change then brings about, and changes nothing', async () => {
    await quoted();
    const rule = { user_id: user.id, ...SCOPE, markup_percent: '0' };
    const { status, body } = await preview({ add: rule });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      changed: 1,
      offers: [
        {
          user_id: user.id,
          version: '6',
          period: 30,
          country: null,
          before: { markup_percent: '20.0000', by: 'default', unit_price: '25.08' },
          after: { markup_percent: '0.0000', by: 'new', unit_price: '20.90' },
        },
      ],
    });
    const rules = await staff.get<Rules>(`/staff/price-rules?history=true&user_id=${user.id}`);
    expect(rules.body.items).toEqual([]);

    const added = await add(rule);
    await prices.applyChanges();
    expect(await quoted()).toBe('20.90');
    expect((await preview({ end: added.id })).body.offers).toMatchObject([
      { before: { by: added.id, unit_price: '20.90' }, after: { by: 'default', unit_price: '25.08' } },
    ]);
    const replacement = { add: { ...rule, markup_percent: '1' }, end: added.id };
    expect((await preview(replacement)).body.offers).toMatchObject([
      { before: { by: added.id, unit_price: '20.90' }, after: { by: 'new', unit_price: '21.11' } },
    ]);
    expect((await preview({ add: rule, end: added.id })).body).toMatchObject({
      changed: 0,
      unchanged_because: 'The new markup results in the same prices',
    });
  });

  it('says why nothing changes', async () => {
    await quoted();
    const rule = await add({ user_id: user.id, ...SCOPE, markup_percent: '0' });
    await prices.applyChanges();
    const wider = { user_id: user.id, version: '6', min_period: 30, max_period: 31, markup_percent: '5' };
    expect((await preview({ add: wider })).body).toMatchObject({
      changed: 0,
      unchanged_because: expect.stringContaining(`set by price rule ${rule.id} (more specific`),
    });
    const nowhere = { user_id: user.id, version: '6', min_period: 31, max_period: 31, markup_percent: '5' };
    expect((await preview({ add: nowhere })).body).toMatchObject({
      changed: 0,
      unchanged_because: 'The rule does not match any offer',
    });
  });

  it('shows no country that only other users have rules for', async () => {
    const other = await service.createUser();
    await add({ user_id: other.id, country: 'us', markup_percent: '1' });
    await prices.applyChanges();
    await quoted();
    const { body } = await preview({ add: { user_id: user.id, ...SCOPE, markup_percent: '0' } });
    expect(body.offers.map(({ country }) => country)).toEqual([null]);
  });

  it('is refused when there is nothing to compare', async () => {
    expect((await preview({})).status).toBe(400);
    expect((await preview({ end: 999_999 })).status).toBe(404);
    expect(await preview({ add: { country: 'r1' }, end: 'x' })).toMatchObject({
      status: 422,
      body: {
        detail: [
          { loc: ['body', 'add', 'country'], type: 'string_pattern_mismatch' },
          { loc: ['body', 'add', 'markup_percent'], type: 'missing' },
          { loc: ['body', 'end'], type: 'int_parsing' },
        ],
      },
    });
    expect(await preview({ add: 'rule' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'add'], type: 'model_attributes_type' }] },
    });
  });
});

describe('The markup that applies', () => {
  it('is shown for an offer at a given time, with the rule', async () => {
    const rule = await add({ user_id: user.id, country: 'us', markup_percent: '3' });
    const which = async (query: string) =>
      (await staff.get(`/staff/price-rules/which?user_id=${user.id}&period=30&${query}`)).body;
    const then = `at=${encodeURIComponent(rule.valid_from)}`;
    expect(await which(`country=US&${then}`)).toEqual({
      at: rule.valid_from,
      markup_percent: '3.0000',
      rule,
      dearer_rule: null,
    });
    expect(await which(then)).toEqual({
      at: rule.valid_from,
      markup_percent: '20.0000',
      rule: null,
      dearer_rule: null,
    });
    expect(await which('country=us&at=2026-01-01T00:00:00Z')).toMatchObject({ rule: null });
    expect((await staff.get('/staff/price-rules/which')).status).toBe(422);
    expect((await staff.get('/staff/price-rules/first')).status).toBe(422);
  });
});
