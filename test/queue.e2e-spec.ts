// A service of its own: the tests queue orders as killed replicas leave them.
import { randomBytes, randomUUID } from 'node:crypto';
import { CatalogService } from '../src/catalog';
import { DispatcherService, OrderCancellations, OrderClaims } from '../src/orders';
import { newOrder, type NewOrder } from '../src/orders/placing/new-order';
import { OrderPlacement } from '../src/orders/placing/order-placement';
import { EndReadClaims } from '../src/orders/transitions/end-read-claims';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { lookAway } from './support/look-away';
import { passSettlementDelay } from './support/settlement-delay';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

const PERIOD = 30;

describe('An order in the queue that no request waits for', () => {
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser({ balance: '10000.00' }));
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.control.resetFaults();
    await service.untilSettled();
  });
  beforeClosing(() => service.audit({ withProvider: true }));

  const buy = async (by: TestUser): Promise<number> =>
    Number((await by.buy({ period: PERIOD })).data?.proxies[0]?.id);

  /** No request waits for such an order, left by a killed replica or a renewal. */
  async function orderOf(by: TestUser, proxyId: number | null): Promise<NewOrder> {
    const kind = proxyId === null ? 'purchase' : 'prolongation';
    const item = { kind, country: 'ru', version: '6', period: PERIOD, count: 1 } as const;
    const quote = await service.app
      .get(CatalogService)
      .chargedPrice(item, { userId: by.id, country: item.country });
    return newOrder(
      { ...item, proxyType: 'http', proxyId, maxPrice: null },
      quote,
      { userId: by.id, tokenId: null, dailyLimit: null, limitedBy: [] },
      { provider: 'px6', idempotency: { key: randomUUID(), requestHash: randomBytes(32) }, requestId: null },
    );
  }

  async function leave(by: TestUser, proxyId: number | null = null) {
    const [placement] = await service.app.get(OrderPlacement).place([await orderOf(by, proxyId)]);
    if (placement?.outcome !== 'placed') throw new Error(`not placed: ${JSON.stringify(placement)}`);
    return placement.id;
  }

  const stateOf = async (orderId: number): Promise<string> =>
    (await service.dataSource.query('SELECT state FROM orders WHERE id = $1', [orderId]))[0].state;

  const untilCompleted = (orderId: number) =>
    eventually(async () => (await stateOf(orderId)) === 'completed');

  const listings = async (): Promise<number> => (await service.control.getCalls('getproxy')).length;

  it('is sent all the same: a purchase, and a prolongation whose end is to be read', async () => {
    const own = await service.createUser();
    const proxyId = await buy(own);
    const before = (await service.control.getState()).prolongations.length;
    const orders = [await leave(own), await leave(own, proxyId)];
    for (const order of orders) await untilCompleted(order);
    const { sales, prolongations } = await service.control.getState();
    expect(sales.filter(({ descr }) => descr.includes(`.u${own.id}.`))).toHaveLength(2);
    const prolonged = prolongations.slice(before).flatMap(({ proxies }) => proxies.map(({ id }) => id));
    expect(prolonged).toEqual([await service.providerIdOf(proxyId)]);
  });

  it('is read by one replica at a time, and by another one when that is gone', async () => {
    const proxyId = await buy(user);
    const lookAgain = lookAway(service);
    const order = await leave(user, proxyId);
    await service.dataSource.query('UPDATE orders SET end_read_at = now() WHERE id = $1', [order]);
    await service.control.clearCalls();
    lookAgain();
    service.app.get(DispatcherService).wake('prolongation');
    await buy(user);
    expect([await stateOf(order), await listings()]).toEqual(['reserved', 0]);
    await service.dataSource.query(
      `UPDATE orders SET end_read_at = now() - interval '1 minute' WHERE id = $1`,
      [order],
    );
    await untilCompleted(order);
    expect(await listings()).toBe(1);
  });

  it('is claimed by one of two replicas that look at the same moment', async () => {
    const proxyId = await buy(user);
    lookAway(service);
    const order = await leave(user, proxyId);
    const lock = await lockRow(service.owner, `SELECT FROM orders WHERE id = ${order} FOR UPDATE`);
    const readings = service.app.get(EndReadClaims);
    const claims = [readings.claim('everything'), readings.claim('everything')];
    await untilWaiting(service.owner, 'WITH unread', claims.length);
    await lock.release();
    expect((await Promise.all(claims)).flat()).toMatchObject([{ orderId: order }]);
    await service.app.get(OrderCancellations).cancelOrders([order], 'unavailable', ['reserved']);
  });

  it('is read again when its end was read long ago', async () => {
    const proxyId = await buy(user);
    const lookAgain = lookAway(service);
    const order = await leave(user, proxyId);
    // Somebody else has prolonged the proxy.
    await service.dataSource.query(
      `UPDATE orders SET end_read_at = now() - interval '2 hours', date_end_before = now() WHERE id = $1`,
      [order],
    );
    await service.control.clearCalls();
    lookAgain();
    await untilCompleted(order);
    expect(await listings()).toBe(1);
    const [row] = await service.dataSource.query(
      `SELECT date_end_before > now() + interval '1 day' AS "isNew" FROM orders WHERE id = $1`,
      [order],
    );
    expect(row.isNew).toBe(true);
  });

  describe('and prolongs a rental whose end the last sweep has confirmed', () => {
    const prolonged = (by: TestUser, proxyId: number) => by.prolong(String(proxyId), { period: PERIOD });
    const endOf = async (proxyId: number): Promise<number> => {
      const [row] = await service.dataSource.query(
        'SELECT date_end AS "dateEnd" FROM proxies WHERE id = $1',
        [proxyId],
      );
      return row.dateEnd.getTime() / 1000;
    };
    const DAY_S = 86_400;

    it('needs no listing, unless an order was sent since', async () => {
      const proxyId = await buy(user);
      await service.runJob('sweep');
      await service.control.clearCalls();
      expect([(await prolonged(user, proxyId)).response.status, await listings()]).toEqual([200, 0]);
      expect([(await prolonged(user, proxyId)).response.status, await listings()]).toEqual([200, 1]);
      // The next sweep compares the proxy again.
      await service.runJob('sweep');
      await service.control.clearCalls();
      expect([(await prolonged(user, proxyId)).response.status, await listings()]).toEqual([200, 0]);
    });

    it('is listed again when one was canceled without proof: its call may still take effect', async () => {
      const proxyId = await buy(user);
      await service.runJob('sweep');
      await service.control.addFault({ method: 'prolong', kind: 'reset' });
      expect((await prolonged(user, proxyId)).response.status).toBe(503);
      await passSettlementDelay(service);
      await service.untilSettled();
      await service.runJob('sweep');
      await service.control.clearCalls();
      expect([(await prolonged(user, proxyId)).response.status, await listings()]).toEqual([200, 1]);
    });

    it.each([
      ['reset', 1],
      ['response-lost', 2],
    ] as const)(
      'is charged once when somebody prolonged it by hand and its call is lost (%s)',
      async (kind, times) => {
        const proxyId = await buy(user);
        await service.runJob('sweep');
        const before = [await endOf(proxyId), Number((await service.balanceOf(user)).available)] as const;
        await service.wire.call(`prolong/?period=${PERIOD}&ids=${await service.providerIdOf(proxyId)}`);
        await service.control.addFault({ method: 'prolong', kind });
        const { data, response } = await prolonged(user, proxyId);
        expect([response.status, data?.price_charged]).toEqual([200, '25.08']);
        expect(await endOf(proxyId)).toBe(before[0] + times * PERIOD * DAY_S);
        const { available, held } = await service.balanceOf(user);
        expect([(before[1] - Number(available)).toFixed(2), held]).toEqual(['25.08', '0.00']);
      },
    );

    it('tolerates an end that differs by a second, in a response and after a lost one', async () => {
      const proxyId = await buy(user);
      await service.runJob('sweep');
      const before = await endOf(proxyId);
      await service.control.changeProxy(await service.providerIdOf(proxyId), { unixtimeEnd: before + 1 });
      expect((await prolonged(user, proxyId)).response.status).toBe(200);
      expect(await endOf(proxyId)).toBe(before + 1 + PERIOD * DAY_S);
      await service.runJob('sweep');
      await service.control.changeProxy(await service.providerIdOf(proxyId), {
        unixtimeEnd: (await endOf(proxyId)) + 1,
      });
      await service.control.addFault({ method: 'prolong', kind: 'reset' });
      expect((await prolonged(user, proxyId)).response.status).toBe(503);
      await passSettlementDelay(service);
      await service.untilSettled();
      const [last] = await service.dataSource.query(
        'SELECT state, failure FROM orders WHERE proxy_id = $1 ORDER BY id DESC LIMIT 1',
        [proxyId],
      );
      expect(last).toEqual({ state: 'canceled', failure: 'nothing-found' });
      await service.runJob('sweep');
    });
  });

  describe('and renews a rental', () => {
    async function leaveRenewal(by: TestUser): Promise<number> {
      const order = await leave(by, await buy(by));
      await service.dataSource.query(
        `UPDATE orders SET origin = 'renewal', date_end_before = proxies.date_end, end_read_at = now()
           FROM proxies WHERE orders.id = $1 AND proxies.id = proxy_id`,
        [order],
      );
      return order;
    }

    const claimNext = async (): Promise<number[]> => {
      const batch = await service.app.get(OrderClaims).claimNextBatch(randomUUID(), null);
      return (batch?.members ?? []).map(({ id }) => id);
    };

    async function leaveBoth(): Promise<{ purchase: number; renewal: number }> {
      const other = await service.createUser();
      lookAway(service);
      await buy(user);
      const renewal = await leaveRenewal(other);
      await service.dataSource.query('UPDATE orders SET submitted_at = NULL WHERE user_id = $1', [other.id]);
      return { renewal, purchase: await leave(user) };
    }

    const refund = (ids: readonly number[]) =>
      service.app.get(OrderCancellations).cancelOrders(ids, 'unavailable', ['submitting']);

    it('lets customers go first, after any order', async () => {
      const { purchase, renewal } = await leaveBoth();
      const claimed = [await claimNext(), await claimNext()];
      expect(claimed).toEqual([[purchase], [renewal]]);
      await refund(claimed.flat());
    });

    it('waits no longer than its rental runs when the batch that it was in is refused', async () => {
      lookAway(service);
      const renewal = await leaveRenewal(user);
      await service.dataSource.query(
        `UPDATE orders SET date_end_before = now() + interval '30 minutes' WHERE id = $1`,
        [renewal],
      );
      expect(await claimNext()).toEqual([renewal]);
      expect(await service.app.get(OrderClaims).requeueRefused(renewal, [[renewal]])).toEqual([renewal]);
      const [order] = await service.dataSource.query(
        `SELECT queued_until = date_end_before AND next_search_at = queued_until AS "isOver"
           FROM orders WHERE id = $1`,
        [renewal],
      );
      expect(order.isOver).toBe(true);
      await service.app.get(OrderCancellations).cancelOrders([renewal], 'unavailable', ['reserved']);
    });

    it('has its turn after ten minutes, however busy the service is', async () => {
      const { purchase, renewal } = await leaveBoth();
      await service.dataSource.query(
        `UPDATE orders SET created_at = now() - interval '11 minutes' WHERE id = $1`,
        [renewal],
      );
      const claimed = [await claimNext(), await claimNext()];
      expect(claimed).toEqual([[renewal], [purchase]]);
      await refund(claimed.flat());
    });
  });
});
