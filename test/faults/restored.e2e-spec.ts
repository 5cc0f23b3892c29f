import type { RefundsPage } from '../../src/staff/refunds/staff-refunds.dto';
import type { FoundProlongationOut, UnmatchedProxyOut, MaintenanceOut } from '../../src/sync';
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { forEachTest } from '../support/fixtures';
import { captureLog } from '../support/log-capture';
import { type Restored, restorePoint } from '../support/restored';
import { startTestService, testUser, type TestUser } from '../support/test-service';
import { WireClient } from '../support/wire-client';

const REASON = ['--reason', 'restored'];
const reason = 'restored';

jest.setTimeout(120_000);

interface Staff {
  get<Result>(path: string): Promise<Result>;
  post(path: string, body: object): Promise<unknown>;
}

describe('After the database was restored to an earlier moment', () => {
  let restored: Restored;

  // Jobs fail, loudly, while their database is being copied.
  const log = forEachTest(captureLog);
  const service = forEachTest(startTestService);
  const user = forEachTest(() => service.createUser());
  const other = forEachTest(() => service.createUser());
  const staffUser = forEachTest(() => service.createUser({ scopes: ['staff:system', 'staff:orders'] }));
  afterEach(async () => {
    await restored.close();
    await service.close();
    log.stop();
  });

  const begin = () => restored.command<MaintenanceOut>(['maintenance', 'begin', ...REASON]);

  function staffAt(baseUrl: string): Staff {
    const request = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
      const response = await fetchAs(staffUser, method, `${baseUrl}/staff${path}`, body);
      const result: Result = JSON.parse(await response.text());
      return result;
    };
    return {
      get: (path) => request('GET', path),
      post: (path, body) => request('POST', path, { reason, ...body }),
    };
  }

  const untilSwept = (staff: Staff) =>
    eventually(async () => {
      const { to_be_done: left } = await staff.get<MaintenanceOut>('/maintenance');
      return left.every((one) => one.includes('undecided'));
    });
  const at = (baseUrl: string, { id, token }: TestUser) => testUser(baseUrl, id, token);
  const prolongMany = ({ api }: TestUser, proxyId: string, key: string) =>
    api.POST('/proxies/prolong', {
      params: { header: { 'Idempotency-Key': key } },
      body: { proxy_ids: [proxyId], period: 30 },
    });
  const moneyCalls = async () => {
    const { sales, prolongations: prolonged } = await service.control.getState();
    return { sales: sales.length, prolongations: prolonged.length };
  };
  const spentBy = async ({ id }: TestUser) => {
    const [account] = await restored.query<{ spent: string; held: string }>(
      'SELECT spent, held FROM accounts WHERE user_id = $1',
      [id],
    );
    return account;
  };

  it('is closed for maintenance until sweeps have reported everything', async () => {
    const { data: bought } = await user.buy({}, 'before');
    restored = await restorePoint(service);
    expect(await restored.refused(['maintenance', 'end', ...REASON])).toBe(
      'The service is not closed for maintenance',
    );

    const left = ['no sweep has been complete yet'];
    expect(await begin()).toMatchObject({
      closed: true,
      reason: 'restored',
      swept_at: null,
      to_be_done: left,
    });
    expect(await restored.refused(['maintenance', 'end', ...REASON])).toBe(
      `The service stays closed for maintenance: ${left[0]}`,
    );
    expect(await restored.refused(['maintenance', 'end', '--nothing-was-lost', ...REASON])).toBe(
      'The database was restored, so nothing_was_lost is refused: maintenance ends when everything is ' +
        'decided',
    );
    const { baseUrl } = await restored.start();
    const client = at(baseUrl, user);
    const proxyId = bought?.proxies[0]?.id ?? '';
    const refused = [
      await client.buy(),
      await client.prolong(proxyId),
      await prolongMany(client, proxyId, 'bulk'),
      await client.api.PUT('/proxies/{proxy_id}/type', {
        params: { path: { proxy_id: proxyId } },
        body: { proxy_type: 'socks' },
      }),
    ];
    for (const { response, error } of refused) {
      expect(error).toMatchObject({ detail: 'Service temporarily unavailable' });
      expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '60']);
    }
    expect((await client.buy({}, 'before')).data).toEqual(bought);
    expect((await client.api.GET('/proxies')).data).toEqual(bought?.proxies);

    const staff = staffAt(baseUrl);
    await untilSwept(staff);
    expect(await staff.post('/maintenance/end', {})).toMatchObject({ closed: false, to_be_done: [] });
    expect((await client.buy()).response.status).toBe(200);
  });

  it('leaves refunds to staff that it has forgotten, whose proxies were deleted', async () => {
    const { data: bought } = await user.buy({ count: 2 });
    await service.owner.query('UPDATE refund_rule SET enabled = true');
    restored = await restorePoint(service);
    const [deleted] = bought?.proxies ?? [];
    await service.control.withdrawProxy(await service.providerIdOf(deleted?.id));
    await begin();
    const { baseUrl } = await restored.start();
    const staff = staffAt(baseUrl);
    await eventually(async () => (await staff.get<MaintenanceOut>('/maintenance')).undecided_refunds === 1);
    await untilSwept(staff);
    const end = ['maintenance', 'end', ...REASON];
    expect(await restored.refused(end)).toContain('1 refunds of missing proxies are undecided');
    const items = await restored.command<RefundsPage['items']>(['refunds', 'list', '--state', 'staff']);
    expect(items).toMatchObject([{ proxy_id: Number(deleted?.id), reason: 'forgotten' }]);
    const id = String(items[0]?.id);
    const decided = ['refunds', 'decide', '--id', id, '--as', 'refund', ...REASON];
    expect(await restored.command(decided)).toMatchObject({ state: 'refunded', amount: items[0]?.amount });
    expect(await restored.command(end)).toMatchObject({ closed: false });
    const { data: list } = await at(baseUrl, user).api.GET('/proxies');
    expect(list?.map(({ active }) => active)).toEqual([false, true]);
  });

  it('settles what was open by evidence, also what had not been sent by then', async () => {
    const held = async (client: TestUser, key: string, count = 1) => {
      const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
      const response = client.buy({ count }, key);
      await service.control.untilGateReached(gate);
      return { response, open: (verdict: 'pass' | 'drop') => service.control.openGate(gate, verdict) };
    };
    const lost = await held(user, 'lost', 2);
    const waiting = await held(other, 'waiting');
    restored = await restorePoint(service);
    await Promise.all([lost.open('drop'), waiting.open('pass')]);
    await Promise.all([lost.response, waiting.response]);
    await restored.query(
      `UPDATE orders SET state = 'reserved', batch_id = NULL, submitted_at = NULL, claim = NULL,
              queued_until = sent_before, sent_before = NULL
        WHERE idempotency_key = 'waiting'`,
    );
    await begin();
    const { baseUrl } = await restored.start();
    const staff = staffAt(baseUrl);
    await untilSwept(staff);
    expect(await staff.post('/maintenance/end', {})).toMatchObject({ closed: false });
    expect(
      await restored.query('SELECT idempotency_key AS key, state, failure FROM orders ORDER BY id'),
    ).toEqual([
      { key: 'lost', state: 'canceled', failure: 'nothing-found' },
      { key: 'waiting', state: 'completed', failure: null },
    ]);
    const before = await moneyCalls();
    const { response } = await at(baseUrl, other).buy({}, 'waiting');
    expect(response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(await moneyCalls()).toEqual(before);
    expect(await restored.command(['audit', '--provider'])).toMatchObject({ ok: true });
  });

  it('finds what was sold since, has staff decide about it, and buys nothing twice', async () => {
    const { data: early } = await user.buy({ count: 2 }, 'early');
    const [first = '', second = ''] = (early?.proxies ?? []).map(({ id }) => id);
    restored = await restorePoint(service);

    const { data: forgotten } = await user.buy({ count: 2 }, 'forgotten');
    const { data: mine } = await user.buy({}, 'mine');
    const [{ orderReference }] = await service.dataSource.query(
      'SELECT order_reference AS "orderReference" FROM orders WHERE id = $1',
      [mine?.order_id],
    );
    await new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey).call(
      `buy/?count=1&period=30&country=ru&version=6&descr=${orderReference}`,
    );
    expect((await user.prolong(first, { key: 'prolonged' })).response.status).toBe(200);
    expect((await prolongMany(user, second, 'bulk')).response.status).toBe(200);
    const sold = await moneyCalls();
    const { data: listed } = await user.api.GET('/proxies');

    await begin();
    const { baseUrl } = await restored.start();
    const [client, theirs] = [at(baseUrl, user), at(baseUrl, other)];
    const staff = staffAt(baseUrl);
    await untilSwept(staff);
    expect(await staff.post('/maintenance/end', {})).toMatchObject({
      detail:
        'The service stays closed for maintenance: 4 unmatched proxies are undecided; ' +
        '2 prolongations found at the provider are undecided',
    });
    const unmatched = async () =>
      (await staff.get<{ items: UnmatchedProxyOut[] }>('/unmatched-proxies?state=open')).items;
    const found = await unmatched();
    expect(found).toHaveLength(4);
    for (const unmatchedProxy of found) {
      expect(unmatchedProxy).toMatchObject({ named_user_id: user.id, is_order_forgotten: true });
    }
    const deliver = (orderId: number | null | undefined, { id }: TestUser, count?: number) => {
      const unmatchedProxy = found.findLast(({ named_order_id: named }) => named === orderId);
      return staff.post(`/unmatched-proxies/${unmatchedProxy?.id}/deliver`, {
        user_id: id,
        price: '2.00',
        count,
      });
    };
    // The order reference names the user, whose order gets its number back.
    expect(await deliver(mine?.order_id, other, 1)).toMatchObject({
      detail: 'The proxies must first be delivered to the user named by the order reference',
    });
    expect(await deliver(mine?.order_id, user, 3)).toMatchObject({
      detail: 'The request names more unmatched proxies with this order reference than await a decision',
    });
    expect(await deliver(forgotten?.order_id, user)).toMatchObject({ order_id: forgotten?.order_id });
    expect(await deliver(mine?.order_id, user, 1)).toMatchObject({ order_id: mine?.order_id });
    expect(await deliver(mine?.order_id, user)).toMatchObject({
      detail: 'The unmatched proxy is already assigned to an order',
    });
    const [rest] = await unmatched();
    expect(
      await staff.post(`/unmatched-proxies/${rest?.id}/deliver`, { user_id: other.id, price: '2.00' }),
    ).toMatchObject({ state: 'assigned' });
    const { items: prolonged } = await staff.get<{ items: FoundProlongationOut[] }>(
      '/found-prolongations?state=open',
    );
    for (const { id, days } of prolonged) {
      expect(days).toBe(30);
      expect(await staff.post(`/found-prolongations/${id}/charge`, { price: '1.50' })).toMatchObject({
        state: 'charged',
      });
    }
    expect(await staff.post('/maintenance/end', {})).toMatchObject({ closed: false });

    const replayed = [
      await client.buy({ count: 2 }, 'forgotten'),
      await client.buy({}, 'mine'),
      await theirs.buy({}, 'theirs'),
      await client.prolong(first, { key: 'prolonged' }),
    ];
    expect(replayed.map(({ response }) => response.status)).toEqual([200, 200, 200, 200]);
    expect(replayed.map(({ response }) => response.headers.get('Idempotency-Replayed'))).toEqual(
      replayed.map(() => 'true'),
    );
    expect(replayed[0]?.data).toMatchObject({ order_id: forgotten?.order_id, price_charged: '4.00' });
    const bulk = await prolongMany(client, second, 'bulk');
    expect(bulk.data).toMatchObject({ totals: { prolonged: 1, price_charged: '1.50' } });
    expect(await moneyCalls()).toEqual(sold);
    expect((await client.buy({ count: 2 }, 'forgotten')).data).toEqual(replayed[0]?.data);
    expect(await spentBy(other)).toEqual({ spent: '2.00', held: '0.00' });

    const withoutId = (proxies: readonly { id: string; port: string }[] | undefined) =>
      (proxies ?? [])
        .map((proxy) => ({ ...proxy, id: undefined }))
        .sort((one, next) => Number(one.port) - Number(next.port));
    expect(withoutId((await client.api.GET('/proxies')).data)).toEqual(withoutId(listed));
    // A number or an order reference is never given out twice.
    const { data: next } = await client.buy({}, 'new');
    expect(next?.order_id).toBeGreaterThan((mine?.order_id ?? 0) + 1000);
    expect(Number(next?.proxies[0]?.id)).toBeGreaterThan(
      Math.max(...(listed ?? []).map(({ id }) => Number(id))),
    );
    expect(await moneyCalls()).toEqual({ ...sold, sales: sold.sales + 1 });
    expect(await restored.command(['audit', '--provider'])).toMatchObject({ ok: true });
  });
});
