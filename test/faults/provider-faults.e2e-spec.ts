import { DEFAULT_DIALECT, type Dialect, type FaultSpec } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { checkNow, passSettlementDelay } from '../support/settlement-delay';
import { startTestService, type TestUser } from '../support/test-service';

const UNAVAILABLE = { detail: 'Service temporarily unavailable' };
const CONFIRMING = {
  detail: expect.stringMatching(/^Service temporarily unavailable: order \d+ is being confirmed$/),
};

const DIALECTS = (['exact', 'prefix', 'substring', 'ignored'] as const).flatMap((descrFilter) =>
  (['sorted', 'unsorted', 'moving'] as const).map((pageOrder): [what: string, dialect: Partial<Dialect>] => [
    `${descrFilter} filter and ${pageOrder} pages`,
    { descrFilter, pageOrder, pageLimit: 3 },
  ]),
);

const service = forAllTests(() => startTestService({ environment: { PROVIDER_TIMEOUT_MS: '1000' } }));
beforeClosing(() => service.audit());
afterEach(async () => {
  await service.control.resetFaults();
  await service.control.setDialect(DEFAULT_DIALECT);
});

interface Order {
  readonly kind: string;
  readonly state: string;
  readonly searches: number;
  readonly proxy: string;
  readonly settlementDelaySeconds: number;
}

async function orderOf({ id }: TestUser): Promise<Order> {
  const [order] = await service.dataSource.query(
    `SELECT kind, state, searches, (SELECT max(id) FROM proxies WHERE order_id = orders.id) AS proxy,
            extract(epoch FROM coalesce(closed_at, now()) - sent_before)::float8 AS "settlementDelaySeconds"
       FROM orders WHERE user_id = $1 ORDER BY id DESC LIMIT 1`,
    [id],
  );
  return order;
}

/** Two searches that find nothing after the settlement delay would release the money. */
async function searchInVain(user: TestUser): Promise<void> {
  const { searches } = await orderOf(user);
  await passSettlementDelay(service);
  await eventually(async () => {
    await checkNow(service);
    return (await orderOf(user)).searches > searches + 3;
  });
}

describe('The provider may list as it likes:', () => {
  const user = forAllTests(() => service.createUser({ balance: '100000.00' }));

  const buy = (count: number) => user.buy({ count });
  const prolong = (proxyId: string) => user.prolong(proxyId);

  /** Fills a page with orders of others whose references contain the next order's reference. */
  async function crowdNextReference(): Promise<void> {
    const [{ orderReference }] = await service.dataSource.query(
      `SELECT format('prs.%s.u%s.o%s', environment, $1::bigint,
                     (SELECT last_value + 1 FROM pg_sequences
                       WHERE sequencename = 'orders_id_seq')) AS "orderReference"
         FROM installation`,
      [user.id],
    );
    await service.wire.call(`buy/?count=3&period=30&country=ru&version=6&descr=${orderReference}0`);
    await service.wire.call(`buy/?count=1&period=30&country=ru&version=6&descr=other.${orderReference}`);
  }

  it.each(DIALECTS)('%s: a lost purchase is delivered in full, and prolonged', async (_, dialect) => {
    await buy(1);
    await crowdNextReference();
    await service.control.setDialect(dialect);
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await buy(2);
    await service.untilSettled();
    const { state, proxy } = await orderOf(user);
    expect(state).toBe('completed');
    // While rows move, a listing may miss the proxy: the response is then 503, and nothing was sent.
    await eventually(async () => (await prolong(proxy)).response.status === 200);
  });

  it.each(['prefix', 'substring'] as const)(
    '%s filter: the money of a purchase that was not made goes back',
    async (descrFilter) => {
      await crowdNextReference();
      await service.control.setDialect({ descrFilter, pageLimit: 3 });
      await service.control.addFault({ method: 'buy', kind: 'reset' });
      await buy(1);
      await passSettlementDelay(service);
      await service.untilSettled();
      expect(await orderOf(user)).toMatchObject({ state: 'canceled' });
    },
  );

  it('ignored filter: the money stays held until the filter works and finds nothing', async () => {
    await crowdNextReference();
    await service.control.setDialect({ descrFilter: 'ignored' });
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await buy(1);
    await searchInVain(user);
    expect(await orderOf(user)).toMatchObject({ state: 'confirming' });
    await service.control.setDialect({ descrFilter: 'exact' });
    await service.untilSettled();
    expect(await orderOf(user)).toMatchObject({ state: 'canceled' });
  });

  it('prefix filter: what was bought under an older reference, without its end, is still found', async () => {
    await buy(1);
    await service.dataSource.query(
      `UPDATE orders SET order_reference = rtrim(order_reference, 'x')
    WHERE id = (SELECT max(id) FROM orders)`,
    );
    const [{ orderReference, id, provider_proxy_id: providerId }] = await service.dataSource.query(
      `SELECT orders.order_reference AS "orderReference", proxies.id, provider_proxy_id
         FROM proxies JOIN orders ON orders.id = order_id
        ORDER BY orders.id DESC LIMIT 1`,
    );
    for (const descr of [`${orderReference}0x`, `${orderReference}1x`, `${orderReference}2`]) {
      await service.wire.call(`buy/?count=2&period=30&country=ru&version=6&descr=${descr}`);
    }
    await service.wire.call(`setdescr/?ids=${providerId}&new=${orderReference}`);
    await service.control.setDialect({ descrFilter: 'prefix', pageLimit: 2, pageOrder: 'unsorted' });
    expect((await prolong(id)).response.status).toBe(200);
  });
});

describe('a failing provider', () => {
  const buy = (user: TestUser, period = 30) => user.buy({ period });
  const proxiesOf = async (user: TestUser) => (await user.api.GET('/proxies')).data ?? [];

  const settled = (user: TestUser) => eventually(async () => (await service.balanceOf(user)).held === '0.00');

  describe('when certainly nothing was bought', () => {
    it.each<[string, FaultSpec]>([
      ['our balance is too low', { method: 'buy', kind: 'error', errorId: 400 }],
      ['it refuses our key', { method: 'buy', kind: 'error', errorId: 100 }],
      ['it refuses our address', { method: 'buy', kind: 'error', errorId: 105 }],
      [
        'it does not find an element, which a purchase does not name',
        { method: 'buy', kind: 'error', errorId: 404 },
      ],
      ['it returns 429', { method: 'buy', kind: 'http-status', status: 429 }],
    ])('the response is 503 and the money is released: %s', async (_, fault) => {
      const user = await service.createUser({ balance: '500.00' });
      await service.control.addFault(fault);
      const { error, response } = await buy(user);
      expect(response.status).toBe(503);
      expect(error).toEqual(UNAVAILABLE);
      expect(await service.balanceOf(user)).toEqual({ available: '500.00', held: '0.00' });
    });
  });

  describe('when a purchase was made but its response is lost', () => {
    it.each<[string, FaultSpec]>([
      ['connection closed', { method: 'buy', kind: 'response-lost' }],
      ['connection reset', { method: 'buy', kind: 'reset', effect: true }],
      ['no response in time', { method: 'buy', kind: 'hang' }],
      ['502', { method: 'buy', kind: 'http-status', status: 502, effect: true }],
      ['503', { method: 'buy', kind: 'http-status', status: 503, effect: true }],
      ['error 30', { method: 'buy', kind: 'error', errorId: 30, effect: true }],
      ['half the JSON', { method: 'buy', kind: 'truncated-json' }],
      ['a body that stops in the middle', { method: 'buy', kind: 'truncated-json', disconnect: true }],
      ['a web page', { method: 'buy', kind: 'html', effect: true }],
      ['another currency', { method: 'buy', kind: 'wrong-currency' }],
      ['one byte at a time', { method: 'buy', kind: 'drip', bytes: 1, intervalMs: 50 }],
      [
        '429 although the purchase was made',
        { method: 'buy', kind: 'http-status', status: 429, effect: true },
      ],
    ])('it is delivered in the same response: %s', async (_, fault) => {
      const user = await service.createUser();
      await service.control.addFault(fault);
      const { data, response } = await buy(user);
      expect(response.status).toBe(200);
      expect(await proxiesOf(user)).toEqual(data?.proxies);
    });
  });

  it('is followed by a delivery in the background when the listing shows the purchase late', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'response-lost', hiddenForMs: 1200 });
    const { error, response } = await buy(user);
    expect(response.status).toBe(503);
    expect(error).toEqual(CONFIRMING);
    await settled(user);
    expect(await proxiesOf(user)).toHaveLength(1);
  });

  it('leaves the money held until two searches have found nothing, then it is released', async () => {
    const faults: readonly FaultSpec[] = [
      { method: 'buy', kind: 'reset' },
      { method: 'buy', kind: 'hang', effect: false },
      { method: 'buy', kind: 'http-status', status: 502 },
      { method: 'buy', kind: 'error', errorId: 30 },
      { method: 'buy', kind: 'html' },
    ];
    const users = await Promise.all(faults.map(() => service.createUser({ balance: '500.00' })));
    for (const [at, user] of users.entries()) {
      await service.control.addFault(faults[at] as FaultSpec);
      const { error, response } = await buy(user);
      expect([faults[at], response.status, error]).toEqual([faults[at], 503, CONFIRMING]);
      expect((await service.balanceOf(user)).held).not.toBe('0.00');
    }
    for (const user of users) {
      await settled(user);
      expect(await service.balanceOf(user)).toEqual({ available: '500.00', held: '0.00' });
      expect((await orderOf(user)).settlementDelaySeconds).toBeGreaterThanOrEqual(1);
    }
  });

  it('treats no failed check as one that found nothing, and decides nothing by a single one', async () => {
    const [lost, bought] = [await service.createUser(), await service.createUser()];
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await buy(lost);
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await buy(bought);
    await searchInVain(bought);
    for (const user of [lost, bought]) expect((await service.balanceOf(user)).held).not.toBe('0.00');
    await service.control.resetFaults();
    for (const user of [lost, bought]) await settled(user);
    expect([await proxiesOf(lost), await proxiesOf(bought)]).toEqual([[], [expect.anything()]]);
    const [searches] = await service.dataSource.query(
      `SELECT count(*) AS complete, extract(epoch FROM max(c.created_at) - min(c.created_at))::float8 AS apart
         FROM provider_calls c JOIN orders o ON o.id = c.order_id
        WHERE o.user_id = $1 AND c.method = 'getproxy' AND c.outcome = 'done'`,
      [lost.id],
    );
    expect(searches.complete).toBeGreaterThanOrEqual(2);
    // A tenth of the settlement delay, less the duration of the searches themselves.
    expect(searches.apart).toBeGreaterThan(0.05);
  });

  it('leaves an order to staff after a day of searches, with the money held', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    await buy(user);
    await service.dataSource.query(
      `UPDATE orders SET sent_before = now() - interval '1 day', next_search_at = now() WHERE user_id = $1`,
      [user.id],
    );
    await eventually(async () => (await orderOf(user)).state === 'review');
    expect((await service.balanceOf(user)).held).not.toBe('0.00');
  });

  describe('when the response to a prolongation is lost', () => {
    async function prolongWhileEndMoves(
      user: TestUser,
      proxy: { id: string; date_end?: string | null } | undefined,
      days: number,
      verdict: 'pass' | 'drop' = 'pass',
    ) {
      const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
      const response = user.prolong(proxy?.id ?? '');
      await service.control.untilGateReached(gate);
      const unixtimeEnd = Math.floor(Date.parse(proxy?.date_end ?? '') / 1000) + days * 86_400;
      await service.control.changeProxy(await service.providerIdOf(proxy?.id), { unixtimeEnd });
      await service.control.openGate(gate, verdict);
      return response;
    }

    it.each<[string, FaultSpec]>([
      ['connection closed', { method: 'prolong', kind: 'response-lost' }],
      ['error 30', { method: 'prolong', kind: 'error', errorId: 30, effect: true }],
      ['half the JSON', { method: 'prolong', kind: 'truncated-json' }],
    ])('the moved end date proves that it was made: %s', async (_, fault) => {
      const user = await service.createUser();
      await buy(user);
      const [before] = await proxiesOf(user);
      await service.control.addFault(fault);
      const { data, response } = await user.prolong(before?.id ?? '');
      expect(response.status).toBe(200);
      expect(data?.proxy.date_end).not.toBe(before?.date_end);
    });

    it('the money is released when the end date has not moved, even after a yes', async () => {
      const [refused, accepted] = [await service.createUser(), await service.createUser()];
      await buy(refused);
      // The proxy must not expire when a period is taken off: an expired one would be prolonged from now on.
      await buy(accepted, 60);
      const [proxies, [moved]] = [await proxiesOf(refused), await proxiesOf(accepted)];
      const before = [await service.balanceOf(refused), await service.balanceOf(accepted)];
      await service.control.addFault({ method: 'prolong', kind: 'http-status', status: 502 });
      expect((await refused.prolong(proxies[0]?.id ?? '')).error).toEqual(CONFIRMING);
      // A period is taken off first, so that the provider's yes comes with the old end date.
      expect((await prolongWhileEndMoves(accepted, moved, -30)).error).toEqual(CONFIRMING);
      for (const user of [refused, accepted]) await settled(user);
      expect([await service.balanceOf(refused), await service.balanceOf(accepted)]).toEqual(before);
      expect(await proxiesOf(refused)).toEqual(proxies);
    });

    it('it is left to staff when the end date moved by another period', async () => {
      const user = await service.createUser();
      await buy(user);
      const [proxy] = await proxiesOf(user);
      const { error } = await prolongWhileEndMoves(user, proxy, 5, 'drop');
      expect(error).toEqual(CONFIRMING);
      expect(await orderOf(user)).toMatchObject({ kind: 'prolongation', state: 'review' });
    });
  });

  it('has each of its calls recorded, without passwords', async () => {
    const user = await service.createUser();
    const { data } = await buy(user);
    const calls = await service.dataSource.query(
      'SELECT method, outcome, request::text, response FROM provider_calls WHERE order_id = $1',
      [data?.order_id],
    );
    expect(calls).toEqual([expect.objectContaining({ method: 'buy', outcome: 'done' })]);
    const password = data?.proxies[0]?.password ?? '';
    expect(JSON.stringify(calls)).not.toContain(password);
    expect(JSON.stringify(calls)).not.toContain(service.sandbox.apiKey);
  });
});
