import { CatalogService } from '../src/catalog';
import type { FaultSpec } from '../src/sandbox';
import { type ApiClient, createApiClient, outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { startReplica } from './support/replica';
import { startTestService } from './support/test-service';

/** How long a customer waits for a refresh while an old value exists. */
const PATIENCE_MS = 1500;
const UNAVAILABLE = { detail: 'Service temporarily unavailable' };

// The clock advances, and the catalog is emptied.
const service = forAllTests(() =>
  startTestService({ jobIntervalsMs: { 'follow-catalog': 100, 'refresh-catalog': 100 } }),
);
const user = forAllTests(() => service.createUser());
beforeEach(async () => {
  // Values cached by the previous test become too old to be served.
  service.clock.advanceDays(2);
  await service.control.setLatencies({});
  await service.control.resetFaults();
  await service.control.clearCalls();
  await service.dataSource.query('DELETE FROM catalog_copies');
});

const countries = (api: ApiClient) => api.GET('/countries');
const stock = (api: ApiClient, country: string) =>
  api.GET('/countries/{country}/count', { params: { path: { country } } });
const price = (api: ApiClient, count: number, period: number) =>
  api.GET('/price', { params: { query: { count, period } } });
const buy = (api: ApiClient, order: { country: string; period: number; count?: number }) =>
  api.POST('/proxies/buy', { body: order as never });

const callsTo = async (method: string) =>
  (await service.control.getCalls(method)).map(({ parameters }) => parameters);
/** Counts one country alone, because a refresh begun in the previous test may call now. */
const stockCalls = async (country: string) =>
  (await callsTo('getcount')).filter((parameters) => parameters['country'] === country);
const failProvider = (fault: Partial<FaultSpec> = {}) =>
  service.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null, ...fault });
const statusesOf = (responses: readonly { response: Response }[]) => [
  ...new Set(responses.map(({ response }) => response.status)),
];

async function timed<Result>(request: () => Promise<Result>): Promise<{ response: Result; ms: number }> {
  const startedAt = performance.now();
  const response = await request();
  return { response, ms: performance.now() - startedAt };
}

describe('After a restart', () => {
  const everything = async (api: ApiClient) => {
    const responses = [await countries(api), await stock(api, 'fr'), await price(api, 2, 30)];
    return responses.map(({ data }) => data);
  };

  const restarted = async <Result>(work: (api: ApiClient) => Promise<Result>): Promise<Result> => {
    const process = await startReplica(service);
    try {
      return await work(createApiClient(process.baseUrl, user.token));
    } finally {
      await process.close();
    }
  };

  // A new process has nothing in memory, so its responses are in the store.
  it('stored values are served without a call, keep their age, and last a day', async () => {
    const before = await restarted(everything);
    expect(before).not.toContain(undefined);
    await failProvider();
    await service.control.clearCalls();
    expect([await restarted(everything), await service.control.getCalls()]).toEqual([before, []]);
    const age = (seconds: number) =>
      service.dataSource.query(
        'UPDATE catalog_copies SET fetched_at = fetched_at - make_interval(secs => $1)',
        [seconds],
      );
    await age(3600);
    await restarted(async (api) => {
      expect(await everything(api)).toEqual(before);
      expect((await buy(api, { country: 'fr', period: 30 })).error).toEqual(UNAVAILABLE);
    });
    expect(await callsTo('getcountry')).not.toHaveLength(0);
    await age(23 * 3600);
    expect(outcomeOf(await restarted(countries))).toEqual([503, UNAVAILABLE]);
  });
});

describe('Two replicas', () => {
  const replica = forAllTests(() => startReplica(service));
  const there = forAllTests(() => createApiClient(replica.baseUrl, user.token));

  const fromBoth = <Result>(request: (api: ApiClient) => Promise<Result>) =>
    Promise.all(Array.from({ length: 8 }, (_, n) => request(n % 2 === 0 ? user.api : there)));

  it('ask the provider once for eight customers who want the same at the same time', async () => {
    await service.control.setLatencies({ any: 300 });
    expect(statusesOf(await fromBoth(countries))).toEqual([200]);
    expect(statusesOf(await fromBoth((api) => stock(api, 'it')))).toEqual([200]);
    expect(statusesOf(await fromBoth((api) => price(api, 1, 30)))).toEqual([200]);
    for (const method of ['getcountry', 'getcount', 'getprice']) {
      expect(await callsTo(method)).toHaveLength(1);
    }
  });

  it('ask once for eight customers, too, when the provider fails', async () => {
    await failProvider();
    // A refresh begun in the previous test may store its value now.
    await eventually(async () => {
      service.clock.advanceDays(2);
      return statusesOf(await fromBoth(countries)).every((status) => status === 503);
    });
    await service.control.resetFaults();
    await service.control.clearCalls();
    await failProvider({ beforeMs: 2000 });
    expect(statusesOf(await fromBoth(countries))).toEqual([503]);
    expect(await callsTo('getcountry')).toHaveLength(1);
    await service.control.resetFaults();
    expect(statusesOf(await fromBoth(countries))).toEqual([200]);
  });

  it('both serve what one of them has fetched', async () => {
    await service.control.setStock('6', 'se', 100);
    for (const api of [user.api, there]) expect((await stock(api, 'se')).data?.available).toBe(100);
    await service.control.setStock('6', 'se', 50);
    service.clock.advanceSeconds(60);
    for (const api of [user.api, there]) expect((await stock(api, 'se')).data?.available).toBe(50);
    expect(await stockCalls('se')).toHaveLength(2);
    expect(await callsTo('getcountry')).toHaveLength(2);
  });

  it('subtract what each of them sells from the stock, without changing its age', async () => {
    const age = () =>
      service.dataSource.query(`SELECT fetched_at FROM catalog_copies WHERE key = 'stock/6/es'`);
    await service.control.setStock('6', 'es', 10);
    for (const api of [user.api, there]) expect((await stock(api, 'es')).data?.available).toBe(10);
    const before = await age();
    await buy(user.api, { country: 'es', period: 30, count: 4 });
    // The replica that did not send the order learns of the sale a moment later.
    await eventually(async () => (await stock(user.api, 'es')).data?.available === 6);
    await buy(user.api, { country: 'es', period: 30, count: 1 });
    await eventually(async () => (await stock(there, 'es')).data?.available === 5);
    const refused = await buy(there, { country: 'es', period: 30, count: 6 });
    expect(refused.error).toEqual({ detail: 'Not enough proxies available' });
    expect(await stockCalls('es')).toHaveLength(1);
    expect(await age()).toEqual(before);
  });

  it('count every sale when both sell the same country at the same time', async () => {
    await service.control.setStock('6', 'pl', 100);
    for (const api of [user.api, there]) await stock(api, 'pl');
    expect(statusesOf(await fromBoth((api) => buy(api, { country: 'pl', period: 30 })))).toEqual([200]);
    for (const api of [user.api, there]) {
      await eventually(async () => (await stock(api, 'pl')).data?.available === 92);
    }
    expect(await stockCalls('pl')).toHaveLength(1);
  });

  it('read a stock for an order even while the other one reads it with a lower priority', async () => {
    await countries(user.api);
    const gate = await service.control.addGate({ method: 'getcount', stage: 'received' });
    const asked = stock(there, 'lv');
    await service.control.untilGateReached(gate);
    await service.dataSource.query(
      `UPDATE catalog_copies SET refreshing_until = now() + interval '1 hour' WHERE key = 'stock/6/lv'`,
    );
    expect((await buy(user.api, { country: 'lv', period: 30 })).response.status).toBe(200);
    await service.control.openGate(gate);
    expect((await asked).response.status).toBe(200);
  });

  it('wait for a replica that is gone no longer than its lease lasts', async () => {
    const { response, ms } = await timed(async () => {
      await service.dataSource.query(
        `INSERT INTO catalog_copies (key, refreshing_until)
         VALUES ('countries/6', clock_timestamp() + interval '0.6 seconds')`,
      );
      return countries(there);
    });
    expect(response.response.status).toBe(200);
    expect(ms).toBeGreaterThan(590);
    expect(await callsTo('getcountry')).toHaveLength(1);
  });
});

describe('A slow provider', () => {
  it('is not noticed while there is a cached value, which is refreshed in the background', async () => {
    await service.control.setStock('6', 'nl', 10);
    await stock(user.api, 'nl');
    const gate = await service.control.addGate({ method: 'getcount', stage: 'received' });
    await service.control.setStock('6', 'nl', 20);
    service.clock.advanceSeconds(45);
    await service.control.untilGateReached(gate);
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { response, ms } = await timed(() => stock(user.api, 'nl'));
      expect(response.data?.available).toBe(10);
      times.push(ms);
    }
    times.sort((one, other) => one - other);
    expect(times[Math.floor(times.length / 2)]).toBeLessThan(PATIENCE_MS);
    await service.control.openGate(gate);
    await eventually(async () => (await stock(user.api, 'nl')).data?.available === 20);
  });

  it('delays one customer by a second and a half when the value is old, and then none', async () => {
    await stock(user.api, 'gb');
    await service.control.setStock('6', 'gb', 33);
    const gate = await service.control.addGate({ method: 'getcount', stage: 'received' });
    const first = await timed(async () => {
      service.clock.advanceSeconds(300);
      await countries(user.api);
      return stock(user.api, 'gb');
    });
    expect(first.response.data?.available).not.toBe(33);
    expect(first.ms).toBeGreaterThan(PATIENCE_MS - 10);
    const later: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { response, ms } = await timed(() => stock(user.api, 'gb'));
      expect(response.data?.available).not.toBe(33);
      later.push(ms);
    }
    expect(later.toSorted((one, other) => one - other)[2]).toBeLessThan(PATIENCE_MS);
    await service.control.openGate(gate);
    await eventually(async () => (await stock(user.api, 'gb')).data?.available === 33);
    expect(await stockCalls('gb')).toHaveLength(2);
  });
});

describe('In the background', () => {
  const ages = () => service.app.get(CatalogService).agesMs();

  it('a requested value is refreshed after 40 s, even without another request', async () => {
    await stock(user.api, 'us');
    await price(user.api, 1, 30);
    const untilFresh = () =>
      eventually(() => ['countries', 'stock', 'prices'].every((copy) => (ages()[copy] ?? Infinity) < 20_000));
    const countCalls = () =>
      Promise.all(
        ['getcountry', 'getcount', 'getprice'].map(async (method) => (await callsTo(method)).length),
      );
    await untilFresh();
    const before = await countCalls();
    for (const refreshes of [1, 2]) {
      service.clock.advanceSeconds(41);
      await untilFresh();
      expect(await countCalls()).toEqual(before.map((calls) => calls + refreshes));
    }
  });

  it('a price outside the table is refreshed for a charged order, not for a refused one', async () => {
    // The fetched price table lacks both prices, which only this test sets.
    await price(user.api, 1, 30);
    await service.control.setPrice('6', 71, '10.00');
    await service.control.setPrice('6', 72, '10.00');
    await buy(user.api, { country: 'ru', period: 71 });
    await service.createUser({ balance: '0.00' }).then(({ api }) => buy(api, { country: 'ru', period: 72 }));
    for (const period of [71, 72]) await price(user.api, 1, period);
    await service.control.clearCalls();
    service.clock.advanceSeconds(41);
    const refreshed = async () => (await callsTo('getprice')).flatMap(({ period }) => period ?? []);
    await eventually(async () => (await refreshed()).length > 0);
    await eventually(() => (ages()['prices'] ?? Infinity) < 20_000);
    expect(await refreshed()).toEqual(['71']);
  });

  it('the ages of what is cached are known', async () => {
    await stock(user.api, 'jp');
    await price(user.api, 1, 30);
    service.clock.advanceSeconds(30);
    for (const copy of ['countries', 'stock', 'prices']) {
      expect(ages()[copy]).toBeGreaterThanOrEqual(30_000);
      expect(ages()[copy]).toBeLessThan(40_000);
    }
  });

  it('the youngest thousand of the prices outside the table are kept', async () => {
    await service.dataSource.query(
      `INSERT INTO catalog_copies (key, value, fetched_at, changed_at)
       SELECT 'price/6/5/' || n, '"unsupported"', now(), now() - n * interval '1 second'
         FROM generate_series(1, 1200) AS n`,
    );
    await price(user.api, 1, 30);
    await service.app.get(CatalogService).forgetOldPrices();
    const [stored] = await service.dataSource.query<{ prices: number; oldest: string; tables: number }[]>(
      `SELECT count(*) FILTER (WHERE key LIKE 'price/%') AS prices,
              count(*) FILTER (WHERE key = 'prices') AS tables,
              max(now() - changed_at) FILTER (WHERE key LIKE 'price/%') < interval '1030 seconds' AS oldest
         FROM catalog_copies`,
    );
    expect(stored).toEqual({ prices: 1000, tables: 1, oldest: true });
  });
});

describe('The price of an order', () => {
  it('is never older than a minute, however slow the provider is', async () => {
    await service.control.setPrice('6', 77, '10.00');
    expect((await price(user.api, 1, 77)).data?.price_final).toBe('12.00');
    await service.control.setPrice('6', 77, '15.00');
    await service.control.setLatencies({ getprice: 1700 });
    service.clock.advanceSeconds(61);
    expect((await buy(user.api, { country: 'ru', period: 77, count: 2 })).data?.price_charged).toBe('36.00');
  });

  it('is never an old cached one: without the provider nothing is held', async () => {
    await stock(user.api, 'ru');
    const { data: quote } = await price(user.api, 1, 30);
    const before = await service.balanceOf(user);
    service.clock.advanceSeconds(61);
    await failProvider();
    expect(outcomeOf(await buy(user.api, { country: 'ru', period: 30 }))).toEqual([503, UNAVAILABLE]);
    expect([await service.balanceOf(user), await callsTo('buy')]).toEqual([before, []]);
    expect((await price(user.api, 1, 30)).data).toEqual(quote);
  });
});
