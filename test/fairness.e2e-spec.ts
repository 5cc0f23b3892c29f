import { eventually } from './support/built-service';
import { holdPermits } from './support/hold-permits';
import { startTestService, type TestService, type TestUser } from './support/test-service';

interface Answer {
  readonly status: number;
  readonly detail: unknown;
  readonly tookMs: number;
}

async function buy(
  user: TestUser,
  body: { country?: string; period?: number; count?: number } = {},
): Promise<Answer> {
  const startedAtMs = performance.now();
  const { error, response } = await user.api.POST('/proxies/buy', {
    body: { country: 'ru', period: 30, ...body } as never,
  });
  const detail = error && 'detail' in error ? error.detail : undefined;
  return { status: response.status, detail, tookMs: performance.now() - startedAtMs };
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

const openOrders = async (service: TestService): Promise<number> => {
  const [row] = await service.dataSource.query<{ count: number }[]>(
    `SELECT count(*) AS count FROM orders WHERE state IN ('reserved', 'submitting', 'confirming')`,
  );
  return row?.count ?? 0;
};

/** Has the service fetch what it checks orders against, so that no order needs a call for it. */
async function knowCatalog(user: TestUser): Promise<void> {
  await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
  for (const country of ['ru', 'us', 'de', 'nl', 'fr']) {
    await user.api.GET('/countries/{country}/count', { params: { path: { country }, query: {} } });
  }
}

describe('A stock that is smaller than what is ordered at once', () => {
  let service: TestService;
  const users = (count: number) => Promise.all(Array.from({ length: count }, () => service.createUser()));

  beforeEach(async () => {
    service = await startTestService({
      environment: { PROVIDER_RATE_PER_SECOND: '3', PURCHASE_WAIT_MS: '30000' },
    });
    await knowCatalog(await service.createUser());
    // Less than the service knows of: others buy there as well.
    await service.control.setStock('6', 'nl', 5);
    await service.control.clearCalls();
  });
  afterEach(async () => {
    await service.untilSettled();
    await service.audit({ withProvider: true });
    await service.close();
  });

  it('is sold once more to as many as fit, and keeps nobody else waiting', async () => {
    const [busy, neighbour] = await users(2);
    if (!busy || !neighbour) throw new Error('no users');
    const many = await holdPermits(service.dataSource, async () => {
      const placed = Array.from({ length: 100 }, () => buy(busy, { country: 'nl' }));
      await eventually(async () => (await openOrders(service)) === 100);
      return placed;
    });
    await eventually(async () => (await service.control.getCalls('buy')).length > 0);
    const other = await buy(neighbour);
    const answers = await Promise.all(many);

    const calls = await service.control.getCalls('buy');
    const sent = calls.map(({ parameters }) => `${parameters['country']} ${parameters['count']}`);
    expect({ status: other.status, before: sent.indexOf('ru 1') }).toEqual({ status: 200, before: 1 });
    expect(sent).toEqual(['nl 100', 'ru 1', 'nl 5']);
    // It was 18 s when each of the hundred went alone, before everybody else.
    expect(other.tookMs).toBeLessThan(5000);
    expect([countOf(answers, 200), countOf(answers, 400)]).toEqual([5, 95]);
    const refused = answers.filter(({ status }) => status === 400);
    expect(new Set(refused.map(({ detail }) => detail))).toEqual(new Set(['Not enough proxies available']));
    expect(Math.max(...refused.map(({ tookMs }) => tookMs))).toBeLessThan(10_000);
  }, 60_000);

  it('goes to as many users as it can, however many orders some of them place', async () => {
    const buyers = await users(8);
    const neighbours = await users(4);
    const answers = await holdPermits(service.dataSource, async () => {
      const placed: Promise<Answer>[][] = [];
      for (const [at, user] of buyers.entries()) {
        // The first ones to come place many orders.
        placed.push(Array.from({ length: at < 2 ? 20 : 2 }, () => buy(user, { country: 'nl' })));
        const sum = placed.flat().length;
        await eventually(async () => (await openOrders(service)) === sum);
      }
      return placed;
    });
    await eventually(async () => (await service.control.getCalls('buy')).length > 0);
    const others = await Promise.all(
      neighbours.map((user, at) => buy(user, { country: ['ru', 'us', 'de', 'fr'][at] ?? 'ru' })),
    );
    const bought = await Promise.all(answers.map(async (orders) => countOf(await Promise.all(orders), 200)));
    expect(bought).toEqual([1, 1, 1, 1, 1, 0, 0, 0]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await service.control.getCalls('buy')).length).toBe(6);
  }, 60_000);
});

describe('Customers who ask for one exact price after the other', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ environment: { PROVIDER_RATE_PER_SECOND: '3' } });
  });
  afterAll(() => service.close());

  it('keep nobody waiting for countries and stock, and get their answers in between', async () => {
    const [curious, other] = await Promise.all([service.createUser(), service.createUser()]);
    await knowCatalog(other);
    const over = new AbortController();
    let asked = 0;
    let answered = 0;
    // Six at a time wait, and each has a price of its own, which is not in the table of prices.
    const prices = Array.from({ length: 6 }, async () => {
      while (!over.signal.aborted) {
        asked += 1;
        const query = { count: asked, period: 13 };
        const { response } = await curious.api.GET('/price', { params: { query } });
        if (response.status < 500) answered += 1;
      }
    });
    await eventually(() => asked > 12);
    const waits: { status: number; tookMs: number }[] = [];
    const first = answered;
    for (const country of ['gb', 'pl', 'fi', 'se']) {
      const startedAtMs = performance.now();
      const { response } = await other.api.GET('/countries/{country}/count', {
        params: { path: { country }, query: {} },
      });
      waits.push({ status: response.status, tookMs: performance.now() - startedAtMs });
    }
    over.abort();
    await Promise.all(prices);
    // Every one of them waited for ten seconds and was refused when exact prices went before the rest.
    expect(waits.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(Math.max(...waits.map(({ tookMs }) => tookMs))).toBeLessThan(9000);
    expect(answered - first).toBeGreaterThan(0);
  }, 90_000);
});
