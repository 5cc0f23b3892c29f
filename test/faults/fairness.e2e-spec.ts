import { RatePermits } from '../../src/provider/rate-permits';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { holdPermits } from '../support/hold-permits';
import { knowCatalog } from '../support/know-catalog';
import { countOpenOrders } from '../support/settled';
import { startTestService, type TestUser } from '../support/test-service';

interface ServiceResponse {
  readonly status: number;
  readonly detail: unknown;
}

async function buy(
  user: TestUser,
  body: { country?: string; period?: number; count?: number } = {},
): Promise<ServiceResponse> {
  const { error, response } = await user.buy(body);
  const detail = error && 'detail' in error ? error.detail : undefined;
  return { status: response.status, detail };
}

const countOf = (responses: readonly ServiceResponse[], status: number): number =>
  responses.filter((response) => response.status === status).length;

// The provider allows three calls in 200 ms.
const service = forAllTests(() =>
  startTestService({ environment: { PROVIDER_RATE_PER_SECOND: '3', PURCHASE_WAIT_MS: '30000' } }),
);
beforeAll(() => void Object.assign(service.app.get(RatePermits), { windowMs: 50 }));

const openOrders = (): Promise<number> => countOpenOrders(service.dataSource);

describe('A stock that is smaller than what is ordered at once', () => {
  const users = (count: number) => Promise.all(Array.from({ length: count }, () => service.createUser()));

  beforeAll(async () => {
    await knowCatalog((await service.createUser()).api, ['ru', 'us', 'de', 'nl', 'fr', 'it']);
  });
  beforeEach(() => service.control.clearCalls());
  afterEach(async () => {
    await service.untilSettled();
    await service.audit({ withProvider: true });
  });

  /** Has the first orders refused for lack of stock, in one call, once the later ones are placed too. */
  async function sellOut<First, Later>(
    country: string,
    placeFirst: () => Promise<First>,
    placeLater: () => Promise<Later>,
  ): Promise<readonly [First, Later]> {
    // Less than the service knows of: others buy there as well.
    await service.control.setStock('6', country, 5);
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const first = await holdPermits(service.dataSource, placeFirst);
    await service.control.untilGateReached(gate);
    return holdPermits(service.dataSource, async () => {
      const later = await placeLater();
      await service.control.openGate(gate);
      return [first, later];
    });
  }

  it('is sold once more to as many as fit, and does not delay other customers', async () => {
    const [busy, neighbour] = (await users(2)) as [TestUser, TestUser];
    const [many, { other }] = await sellOut(
      'nl',
      async () => {
        const placed = Array.from({ length: 40 }, () => buy(busy, { country: 'nl' }));
        await eventually(async () => (await openOrders()) === 40);
        return placed;
      },
      async () => {
        const placed = buy(neighbour);
        await eventually(async () => (await openOrders()) === 41);
        return { other: placed };
      },
    );
    expect((await other).status).toBe(200);
    const responses = await Promise.all(many);

    const calls = await service.control.getCalls('buy');
    expect(calls.map(({ parameters }) => `${parameters['country']} ${parameters['count']}`)).toEqual([
      'nl 40',
      'ru 1',
      'nl 5',
    ]);
    expect([countOf(responses, 200), countOf(responses, 400)]).toEqual([5, 35]);
    const refused = responses.filter(({ status }) => status === 400);
    expect(new Set(refused.map(({ detail }) => detail))).toEqual(new Set(['Not enough proxies available']));
  }, 60_000);

  it('goes to as many users as it can, however many orders some of them place', async () => {
    const buyers = await users(8);
    const neighbours = await users(4);
    const [responses, { others }] = await sellOut(
      'it',
      async () => {
        const placed: Promise<ServiceResponse>[][] = [];
        for (const [at, user] of buyers.entries()) {
          placed.push(Array.from({ length: at < 2 ? 20 : 2 }, () => buy(user, { country: 'it' })));
          const sum = placed.flat().length;
          await eventually(async () => (await openOrders()) === sum);
        }
        return placed;
      },
      async () => {
        const before = await openOrders();
        const countries = ['ru', 'us', 'de', 'fr'];
        const placed = neighbours.map((user, at) => buy(user, { country: countries[at] ?? '' }));
        await eventually(async () => (await openOrders()) === before + 4);
        return { others: placed };
      },
    );
    const bought = await Promise.all(
      responses.map(async (orders) => countOf(await Promise.all(orders), 200)),
    );
    expect(bought).toEqual([1, 1, 1, 1, 1, 0, 0, 0]);
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await service.control.getCalls('buy')).length).toBe(6);
  }, 60_000);
});

describe('A customer whose orders cannot be paid, in countries whose stock is unknown', () => {
  const poor = forAllTests(() => service.createUser({ balance: '0.00' }));
  const waiting = () => service.app.get(RatePermits).waitingCalls();
  let countries: string[] = [];
  const orderIn = (unknown: readonly string[], user = poor, signal: AbortSignal | null = null) =>
    unknown.map((country) =>
      user.api.POST('/proxies/buy', { body: { country, period: 30, count: 900, version: '4' }, signal }),
    );
  const detailsOf = (responses: readonly { error?: unknown }[]) => [
    ...new Set(responses.map(({ error }) => (error as { detail?: unknown } | undefined)?.detail)),
  ];

  beforeAll(async () => {
    await knowCatalog(poor.api);
    const { data } = await poor.api.GET('/countries', { params: { query: { version: '4' } } });
    countries = [...(data ?? [])];
    for (const country of countries) await service.control.setStock('4', country, 5000);
  });

  it('reads one stock at a time, behind all other calls, and no paid order waits for it', async () => {
    const unknown = countries.splice(0, 8);
    const last = unknown.slice(-4);
    const buyer = await service.createUser();
    await service.control.clearCalls();
    const { refused, bought, calls } = await holdPermits(service.dataSource, async () => {
      const unpaid = orderIn(unknown);
      await eventually(() => waiting().spare > 0);
      const paid = last.map((country) => buyer.buy({ country, version: '4' }));
      await eventually(() => waiting().order === 4);
      return { refused: unpaid, bought: paid, calls: waiting() };
    });
    expect(calls).toMatchObject({ order: 4, exact: 0, spare: 1 });
    expect((await Promise.all(bought)).map(({ response }) => response.status)).toEqual([200, 200, 200, 200]);
    expect(detailsOf(await Promise.all(refused))).toEqual(['Insufficient balance']);
    // The first stock's permit was requested before the paid orders came.
    const read = (await service.control.getCalls('getcount')).map(({ parameters }) => parameters['country']);
    expect(read.slice(0, 5)).toEqual(expect.arrayContaining(last));
  });

  it('reads with the priority of the rest in a dry run, and no paid order waits for it', async () => {
    const [country = ''] = countries.splice(0, 1);
    const buyer = await service.createUser();
    const { preview, bought, calls } = await holdPermits(service.dataSource, async () => {
      const asked = buyer.buy({ country, version: '4', dry_run: true });
      await eventually(() => waiting().rest > 0);
      const paid = buyer.buy({ country, version: '4' });
      await eventually(() => waiting().order > 0);
      return { preview: asked, bought: paid, calls: waiting() };
    });
    expect(calls).toMatchObject({ order: 1, rest: 1 });
    expect([(await preview).response.status, (await bought).response.status]).toEqual([200, 200]);
  });

  it('is able to pay with any balance while the price is unknown, for one stock at a time', async () => {
    const unknown = countries.splice(0, 3);
    const kopecks = await service.createUser({ balance: '0.01' });
    const order = (country: string) => kopecks.buy({ country, period: 33, version: '4' });
    const { orders, calls } = await holdPermits(service.dataSource, async () => {
      const placed = unknown.map(order);
      await eventually(() => waiting().order > 0);
      return { orders: placed, calls: waiting() };
    });
    expect(calls).toMatchObject({ order: 1, exact: 0, spare: 0 });
    expect(detailsOf(await Promise.all(orders))).not.toContain('Service temporarily unavailable');
  });

  it('gets 503 when the stock is not read in time, and no word about the balance', async () => {
    const leaving = new AbortController();
    const [country = ''] = countries.splice(0, 1);
    const statuses: unknown[] = [];
    await holdPermits(service.dataSource, async () => {
      for (const order of orderIn(
        Array.from({ length: 110 }, () => country),
        poor,
        leaving.signal,
      )) {
        void order.then(({ error }) => statuses.push(error?.detail)).catch(() => undefined);
      }
      await eventually(() => statuses.length === 9);
    });
    expect(new Set(statuses)).toEqual(new Set(['Service temporarily unavailable']));
    leaving.abort();
  });
});

describe('Customers who request one exact price after the other', () => {
  it('do not delay countries and stock, and get their responses in between', async () => {
    const [curious, other] = await Promise.all([service.createUser(), service.createUser()]);
    await other.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    const over = new AbortController();
    let requested = 0;
    let responded = 0;
    // Six at a time wait, each for a price that the table lacks.
    const prices = Array.from({ length: 6 }, async () => {
      while (!over.signal.aborted) {
        requested += 1;
        const query = { count: requested, period: 13 };
        const { response } = await curious.api.GET('/price', { params: { query } });
        if (response.status < 500) responded += 1;
      }
    });
    await eventually(() => requested > 12);
    const statuses: number[] = [];
    const first = responded;
    for (const country of ['gb', 'pl', 'fi', 'se']) {
      const { response } = await other.api.GET('/countries/{country}/count', {
        params: { path: { country }, query: {} },
      });
      statuses.push(response.status);
    }
    over.abort();
    await Promise.all(prices);
    // If exact prices went first, each request would wait for ten seconds and be refused.
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(responded - first).toBeGreaterThan(0);
  }, 90_000);

  it('wait in a line of a hundred, and are refused at once behind it', async () => {
    const curious = await service.createUser();
    await curious.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    const leaving = new AbortController();
    let refused = 0;
    await holdPermits(service.dataSource, async () => {
      for (let n = 0; n < 110; n += 1) {
        const query = { count: 1, period: 2000 + n };
        void curious.api
          .GET('/price', { params: { query }, signal: leaving.signal })
          .then(({ response }) => (refused += Number(response.status === 503)))
          .catch(() => undefined);
      }
      await eventually(() => refused === 110 - 1 - 100);
      leaving.abort();
    });
  });

  it('do not delay the price of an order, or the prices of others', async () => {
    const [curious, buyer, other] = await Promise.all([
      service.createUser({ balance: '0.00' }),
      service.createUser(),
      service.createUser(),
    ]);
    await other.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    for (const period of [51, 52, 53]) await service.control.setPrice('6', period, '10.00');
    await other.api.GET('/countries/{country}/count', { params: { path: { country: 'ru' }, query: {} } });
    const leaving = new AbortController();
    const { signal } = leaving;
    const curiosity = Array.from({ length: 120 }, (_, n) => {
      const query = { count: 1, period: 100 + 10 * n };
      return curious.api.GET('/price', { params: { query }, signal }).catch(() => undefined);
    });
    const broke = Array.from({ length: 40 }, (_, n) =>
      curious.api
        .POST('/proxies/buy', { body: { country: 'ru', period: 3200 + n }, signal })
        .catch(() => undefined),
    );
    await eventually(() => service.app.get(RatePermits).waitingCalls().exact > 1);
    const preview = other.api.GET('/price', { params: { query: { count: 1, period: 53 } } });
    const orders = await Promise.all(
      Array.from({ length: 20 }, (_, n) => buy(buyer, { period: n % 2 ? 51 : 52 })),
    );
    expect(countOf(orders, 200)).toBe(20);
    expect((await preview).response.status).toBe(200);
    leaving.abort();
    await Promise.all([...curiosity, ...broke]);
    await service.untilSettled();
  }, 60_000);
});
