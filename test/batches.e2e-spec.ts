import { OrderCancellations, OrderClaims } from '../src/orders';
import { CLAIM_LOCK } from '../src/orders/transitions/order-claims';
import { RatePermits } from '../src/provider/rate-permits';
import { outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests } from './support/fixtures';
import { holdPermits, placeTogether, queueTogether } from './support/hold-permits';
import { knowCatalog } from './support/know-catalog';
import { withPurchaseWait } from './support/purchase-wait';
import { sendRaw } from './support/raw-http';
import { passSettlementDelay } from './support/settlement-delay';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

interface PurchaseResponse {
  readonly status: number;
  readonly orderId: number;
  readonly charged: string;
  readonly proxyIds: string[];
  readonly detail: unknown;
}

interface Owned {
  readonly user: TestUser;
  readonly proxyId: string;
}

describe('Orders that are in the queue at the same moment', () => {
  let inquirer: TestUser;
  // A provider that allows few calls, and whose second is short: ten calls in 200 ms.
  const service = forAllTests(() =>
    startTestService({ environment: { PROVIDER_RATE_PER_SECOND: '10', PURCHASE_WAIT_MS: '60000' } }),
  );
  beforeAll(async () => {
    Object.assign(service.app.get(RatePermits), { windowMs: 50 });
    inquirer = await service.createUser();
  });
  beforeClosing(() => service.audit({ withProvider: true }));
  beforeEach(() => service.control.clearCalls());
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.control.resetFaults();
    await service.dataSource.query('DELETE FROM completed_sweeps');
    await service.untilSettled();
  });

  async function buy(
    user: TestUser,
    body: { country?: string; period?: number; count?: number; proxy_type?: string } = {},
    key?: string,
  ): Promise<PurchaseResponse> {
    const { data, error, response } = await user.buy(body, key);
    return {
      status: response.status,
      orderId: data?.order_id ?? 0,
      charged: data?.price_charged ?? '',
      proxyIds: (data?.proxies ?? []).map(({ id }) => id),
      detail: error && 'detail' in error ? error.detail : undefined,
    };
  }

  /** Lets no call out until the order of each is in the queue. */
  async function inQueue<Member, Result>(
    members: readonly Member[],
    order: (member: Member, at: number) => Promise<Result>,
    countries: readonly string[] = ['ru'],
  ): Promise<Result[]> {
    await knowCatalog(inquirer.api, countries);
    return queueTogether(
      service.dataSource,
      members.map((member, at) => () => order(member, at)),
    );
  }

  const prolong = ({ user, proxyId }: Owned) => user.prolong(proxyId);

  /** How many proxies each call bought. */
  const boughtCounts = async () =>
    (await service.control.getCalls('buy')).map(({ parameters }) => parameters['count']);

  const users = (count: number, balance?: string): Promise<TestUser[]> =>
    Promise.all(Array.from({ length: count }, () => service.createUser(balance ? { balance } : {})));

  it('are bought as one batch, and each keeps its own charge, response and proxies', async () => {
    const members = await users(5);
    const responses = await inQueue(members, (user, at) => buy(user, { count: at + 1 }, `member-${at}`));
    expect(responses.map(({ status, proxyIds }) => [status, proxyIds.length])).toEqual([
      [200, 1],
      [200, 2],
      [200, 3],
      [200, 4],
      [200, 5],
    ]);
    expect(responses.map(({ charged }) => charged)).toEqual(['25.08', '50.16', '75.24', '100.32', '125.40']);
    expect(new Set(responses.flatMap(({ proxyIds }) => proxyIds)).size).toBe(15);

    expect(await service.control.getCalls('buy')).toMatchObject([{ parameters: { count: '15' } }]);
    for (const [at, user] of members.entries()) {
      const again = await buy(user, { count: at + 1 }, `member-${at}`);
      expect(again).toMatchObject({
        status: 200,
        orderId: responses[at]?.orderId,
        proxyIds: responses[at]?.proxyIds,
      });
      expect(await service.balanceOf(user)).toMatchObject({ held: '0.00' });
    }
    // The charge of the whole call is divided among them, to the last fraction.
    const [sum] = await service.dataSource.query<{ charge: string; quote: string }[]>(
      `SELECT sum(provider_charge) AS charge, sum(provider_price) AS quote FROM orders WHERE id = ANY ($1)`,
      [responses.map(({ orderId }) => orderId)],
    );
    expect(sum).toEqual({ charge: '313.5000', quote: '313.5000' });
  });

  it('are sent in separate calls when their kinds differ', async () => {
    const [one, two, three, four] = (await users(4)) as [TestUser, TestUser, TestUser, TestUser];
    const kinds = [
      [one],
      [two, { country: 'de' }],
      [three, { proxy_type: 'socks' }],
      [four, { period: 7 }],
    ] as const;
    const responses = await inQueue(kinds, ([user, order]) => buy(user, order), ['ru', 'de']);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await service.control.getCalls('buy')).toHaveLength(4);
  });

  it('stay in the queue while another replica claims, because it would take the same ones', async () => {
    const user = await service.createUser();
    await knowCatalog(inquirer.api);
    const claims = jest.spyOn(service.app.get(OrderClaims), 'claimNextBatch');
    const bought = await service.owner.transaction(async (manager) => {
      await manager.query(`SELECT pg_advisory_xact_lock(${CLAIM_LOCK})`);
      const response = buy(user);
      await eventually(() => claims.mock.calls.length > 2);
      expect(await service.dataSource.query('SELECT state FROM orders ORDER BY id DESC LIMIT 1')).toEqual([
        { state: 'reserved' },
      ]);
      // Not awaited here: it returns once the lock is released.
      return { response };
    });
    expect((await bought.response).status).toBe(200);
  });

  it('are delivered once after a lost response, by one check for all of them', async () => {
    await service.control.addFault({ method: 'buy', kind: 'response-lost', match: { country: 'ru' } });
    const members = await users(4);
    const responses = await inQueue(members, (user) => buy(user));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await service.control.getCalls('buy')).toHaveLength(1);
    expect(await service.control.getCalls('getproxy')).toHaveLength(1);
  });

  it('are all canceled when the lost call bought nothing, and only on evidence', async () => {
    await service.control.addFault({ method: 'buy', kind: 'reset', match: { country: 'ru' } });
    const members = await users(3, '100.00');
    const responses = await inQueue(members, (user) => buy(user));
    for (const { status, detail } of responses) {
      expect(status).toBe(503);
      expect(detail).toMatch(/^Service temporarily unavailable: order \d+ is being confirmed$/);
    }
    for (const user of members) expect((await service.balanceOf(user)).held).toBe('25.08');
    await passSettlementDelay(service);
    await service.untilSettled();
    for (const user of members) {
      expect(await service.balanceOf(user)).toEqual({ available: '100.00', held: '0.00' });
    }
    expect(await service.control.getCalls('buy')).toHaveLength(1);
  });

  it('are bought in one more call, as many as fit in order of arrival, when stock is short', async () => {
    const members = await users(4);
    await knowCatalog(inquirer.api, ['nl']);
    // Less than the service knows of: others buy there as well.
    await service.control.setStock('6', 'nl', 5);
    const responses = await inQueue(members, (user) => buy(user, { country: 'nl', count: 2 }), ['nl']);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400, 400]);
    expect(responses[3]?.detail).toBe('Not enough proxies available');
    expect(await boughtCounts()).toEqual(['8', '4']);
    for (const user of members.slice(2)) {
      expect(await service.balanceOf(user)).toEqual({ available: '10000.00', held: '0.00' });
    }
    // The copy of the stock was corrected, and the sale is taken off it.
    const one = { params: { path: { country: 'nl' }, query: {} } };
    const { data } = await inquirer.api.GET('/countries/{country}/count', one);
    expect(data).toMatchObject({ available: 1 });
  });

  it('wait for their second call also if it begins before the end of the first is seen', async () => {
    const members = await users(3);
    await knowCatalog(inquirer.api, ['ru', 'de', 'fr']);
    await service.control.setStock('6', 'fr', 2);
    const second = await service.control.addGate({
      method: 'buy',
      stage: 'received',
      match: { country: 'fr', count: '2' },
    });
    const releases = service.app.get(OrderCancellations);
    const release = releases.cancelOrders.bind(releases);
    const refunding = jest.spyOn(releases, 'cancelOrders').mockImplementation(async (ids, why, states) => {
      if (why === 'out-of-stock') {
        // Any order has the queue looked at.
        void buy(inquirer, { country: 'de' });
        await service.control.untilGateReached(second);
      }
      return release(ids, why, states);
    });
    const [one, two, three] = await placeTogether(
      service.dataSource,
      members.map((user) => () => buy(user, { country: 'fr' })),
    );
    expect((await three)?.status).toBe(400);
    refunding.mockRestore();
    await service.control.openGate(second);
    expect((await Promise.all([one, two])).map((response) => response?.status)).toEqual([200, 200]);
  });

  it('are all refused after one more call, when the stock that was read is gone by then', async () => {
    const members = await users(3);
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300, times: null });
    const responses = await inQueue(members, (user) => buy(user, { country: 'us', count: 2 }), ['us']);
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(await service.control.getCalls('buy')).toHaveLength(2);
  });

  it('are refused at once when the country is not sold, and sent alone when they are too many', async () => {
    const members = await users(3);
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 220 });
    const refused = await inQueue(members, (user) => buy(user));
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(await service.control.getCalls('buy')).toHaveLength(1);
    await service.control.clearCalls();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 200 });
    const bought = await inQueue(members, (user) => buy(user));
    expect(bought.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await boughtCounts()).toEqual(['3', '1', '1', '1']);
  });

  it('are bought until our balance at the provider is spent, which is read after a refusal', async () => {
    const members = await users(4);
    await knowCatalog(inquirer.api);
    await service.control.setBalance('1000.00');
    await buy(inquirer);
    await service.control.clearCalls();
    try {
      const responses = await inQueue(members, async (user, at) => {
        // Something else spends from the same account.
        if (at === 0) await service.control.setBalance('50.00');
        return buy(user);
      });
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 503, 503]);
      expect(await boughtCounts()).toEqual(['4', '2']);
    } finally {
      await service.control.setBalance('100000.00');
      await eventually(async () => (await buy(inquirer)).status === 200);
    }
  });

  it('share a short delivery in order of arrival, and pay for what they received', async () => {
    await service.control.addFault({
      method: 'buy',
      kind: 'short-list',
      shortBy: 3,
      match: { country: 'ru' },
    });
    const members = await users(3);
    const responses = await inQueue(members, (user) => buy(user, { count: 2 }));
    expect(responses.map(({ status, proxyIds }) => [status, proxyIds.length])).toEqual([
      [200, 2],
      [200, 1],
      [400, 0],
    ]);
    expect(responses.map(({ charged }) => charged)).toEqual(['50.16', '25.08', '']);
  });

  it('do not keep a user waiting behind one who places many orders', async () => {
    const [busy, single] = (await users(2, '100000.00')) as [TestUser, TestUser];
    const periods = [3, 7, 14, 30, 60, 90];
    const late = [single, { country: 'de', period: 30 }] as const;
    const orders = [...periods.map((period) => [busy, { period }] as const), late];
    await inQueue(orders, (order) => buy(...order), ['ru', 'de']);
    // The order in which they are claimed: several calls are under way at once.
    const sent = await service.dataSource.query<{ country: string }[]>(
      'SELECT country FROM orders WHERE user_id IN ($1, $2) ORDER BY submitted_at',
      [busy.id, single.id],
    );
    expect(sent).toHaveLength(7);
    expect(sent.findIndex(({ country }) => country === 'de')).toBeLessThan(3);
  });

  it('do not keep a prolongation waiting for all listings that those of another user need', async () => {
    const [busy, single] = (await users(2)) as [TestUser, TestUser];
    // Each is bought under an order reference of its own, and is listed by it.
    const owned: Owned[] = [];
    for (const user of [...Array.from({ length: 6 }, () => busy), single]) {
      owned.push({ user, proxyId: (await buy(user)).proxyIds[0] ?? '' });
    }
    const [{ orderReference } = { orderReference: '' }] = await service.dataSource.query<
      { orderReference: string }[]
    >('SELECT order_reference AS "orderReference" FROM orders WHERE user_id = $1', [single.id]);
    await service.control.clearCalls();
    const permits = service.app.get(RatePermits);
    Object.assign(permits, { calls: 2 });
    const responses = await inQueue(owned, prolong);
    Object.assign(permits, { calls: 10 });
    expect(new Set(responses.map(({ response }) => response.status))).toEqual(new Set([200]));
    const listed = (await service.control.getCalls('getproxy')).map(({ parameters }) => parameters['descr']);
    expect(listed).toHaveLength(owned.length);
    // Two calls go out in the first moment, before it may have asked.
    expect(listed.indexOf(orderReference)).toBeLessThan(5);
  });

  it('are prolonged as one batch when the period is the same, each from its own end', async () => {
    const user = await service.createUser();
    const { proxyIds } = await buy(user, { count: 4 });
    await service.control.clearCalls();
    await service.control.addFault({ method: 'prolong', kind: 'short-list', shortBy: 1 });
    const responses = await inQueue(proxyIds, (id) => user.prolong(id));
    const statuses = responses.map(({ response }) => response.status).sort((a, b) => a - b);
    // For one proxy the provider said yes without moving its end: that order is canceled on evidence.
    expect(statuses).toEqual([200, 200, 200, 503]);
    expect(await service.control.getCalls('prolong')).toHaveLength(1);
    await passSettlementDelay(service);
  });

  it('are prolonged although the listing of another purchase fails, which is canceled unsent', async () => {
    const members = await users(3);
    const countries = ['ru', 'us', 'de'];
    const bought = await inQueue(members, (user, at) => buy(user, { country: countries[at]! }), countries);
    const [{ orderReference }] = await service.dataSource.query(
      'SELECT order_reference AS "orderReference" FROM orders WHERE id = $1',
      [bought[1]?.orderId],
    );
    await service.control.addFault({
      method: 'getproxy',
      kind: 'http-status',
      status: 500,
      times: null,
      match: { descr: orderReference },
    });
    await service.control.clearCalls();
    const responses = await inQueue(members, (user, at) => user.prolong(bought[at]?.proxyIds[0] ?? ''));
    expect(responses.map(({ response }) => response.status)).toEqual([200, 503, 200]);
    const sent = (await service.control.getCalls('prolong')).map(({ parameters }) => parameters['ids']);
    expect(sent.join(',').split(',')).toHaveLength(2);
    expect(await service.balanceOf(members[1]!)).toEqual({ available: '9974.92', held: '0.00' });
  });

  describe('and of which one is a proxy that the provider lists, but does not prolong,', () => {
    const owned = async (count: number): Promise<Owned[]> => {
      const members = await users(2);
      const bought = await inQueue(members, (user) => buy(user, { count: count / 2 }));
      return members.flatMap((user, at) =>
        (bought[at]?.proxyIds ?? []).map((proxyId) => ({ user, proxyId })),
      );
    };
    const refuse = async ({ proxyId }: Owned) => {
      const id = await service.providerIdOf(proxyId);
      const spoilt = { method: 'prolong', kind: 'error', errorId: 404, times: null } as const;
      await service.control.addFault({ ...spoilt, match: { ids: `*${id}*` } });
    };
    const prolongAll = async (all: readonly Owned[]) => {
      await service.control.clearCalls();
      const responses = await inQueue(all, prolong);
      const calls = (await service.control.getCalls('prolong')).map(({ parameters }) => parameters['ids']);
      return {
        statuses: responses.map(({ response }) => response.status),
        sizes: calls.map((ids = '') => ids.split(',').length),
      };
    };

    it('sends that one alone for an hour after it was refused, and the others together', async () => {
      const all = await owned(6);
      const [spoilt] = all as [Owned];
      await refuse(spoilt);
      expect((await spoilt.user.prolong(spoilt.proxyId)).response.status).toBe(400);
      const { statuses, sizes } = await prolongAll(all);
      expect(statuses).toEqual([400, 200, 200, 200, 200, 200]);
      expect(sizes.toSorted((one, other) => one - other)).toEqual([1, 5]);
    });

    it('takes twelve more calls to find that one, and only the orders of its last call fail', async () => {
      const all = await owned(24);
      const spoilt = all[13]!;
      await refuse(spoilt);
      const { statuses, sizes } = await prolongAll(all);
      expect(sizes).toEqual([24, ...Array.from({ length: 12 }, () => 2)]);
      // The other one of its call may be retried, and goes alone then.
      expect(statuses.filter((status) => status === 200)).toHaveLength(22);
      expect(statuses.filter((status) => status === 503)).toHaveLength(2);
      const again = await prolongAll(all.filter((_, at) => statuses[at] === 503));
      expect(again).toEqual({
        statuses: expect.arrayContaining([200, 400]),
        sizes: [1, 1],
      });
    });
  });

  it('are in the pages that are read while their delivery waits for an account', async () => {
    const [slow, reader] = (await users(2)).sort((a, b) => a.id - b.id) as [TestUser, TestUser];
    const gate = await service.control.addGate({
      method: 'buy',
      stage: 'received',
      match: { country: 'de' },
    });
    const together = inQueue([slow, reader], (user) => buy(user, { country: 'de' }), ['de']);
    await service.control.untilGateReached(gate);
    // The delivery of the batch waits until somebody has let go of the account of one of its customers.
    const held = await lockRow(service.owner, `SELECT FROM accounts WHERE user_id = ${slow.id} FOR UPDATE`);
    await service.control.openGate(gate);
    await untilWaiting(service.owner, 'WITH member AS');
    const quicker = await buy(reader, { count: 2 });

    const seen: string[] = [];
    for (let path: string | undefined = '/proxies?limit=1'; path !== undefined;) {
      const page = await sendRaw(service.baseUrl, { path, token: reader.token });
      seen.push(...(page.json() as { id: string }[]).map(({ id }) => id));
      if (seen.length === 1) {
        await held.release();
        await together;
      }
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers['link']))?.[1];
    }
    const [, { proxyIds: slower }] = (await together) as [PurchaseResponse, PurchaseResponse];
    expect(seen).toEqual([...quicker.proxyIds, ...slower]);
  });

  it('are prolonged after one listing of all proxies when that takes fewer calls', async () => {
    const owners = await users(4);
    const owned: Owned[] = [];
    for (const user of owners) owned.push({ user, proxyId: (await buy(user)).proxyIds[0] ?? '' });
    await service.dataSource.query('INSERT INTO completed_sweeps (began_at, listed) VALUES (now(), 30)');
    await service.control.clearCalls();
    const responses = await inQueue(owned, prolong);
    expect(responses.map(({ response }) => response.status)).toEqual([200, 200, 200, 200]);
    const listings = await service.control.getCalls('getproxy');
    expect(listings.map(({ parameters }) => parameters['descr'])).toEqual([undefined]);
    expect(await service.control.getCalls('prolong')).toHaveLength(1);
  });

  it('leave it after PURCHASE_WAIT_MS, unsent and canceled, when no rate permit comes', async () => {
    const user = await service.createUser();
    await knowCatalog(inquirer.api);
    const refused = await withPurchaseWait(service, 300, () =>
      holdPermits(service.dataSource, () => user.buy()),
    );
    expect(outcomeOf(refused)).toEqual([503, { detail: 'Service temporarily unavailable' }]);
    expect(Number(refused.response.headers.get('Retry-After'))).toBeGreaterThan(0);
    expect(
      await service.dataSource.query('SELECT state, failure FROM orders WHERE user_id = $1', [user.id]),
    ).toEqual([{ state: 'canceled', failure: 'busy' }]);
    expect(await service.balanceOf(user)).toEqual({ available: '10000.00', held: '0.00' });
    expect(await service.control.getCalls('buy')).toEqual([]);
  });
});
