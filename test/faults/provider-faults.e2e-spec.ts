import type { FaultSpec } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { startTestService, type TestUser } from '../support/test-service';

const UNAVAILABLE = { detail: 'Service temporarily unavailable' };
const CONFIRMING = {
  detail: expect.stringMatching(/^Service temporarily unavailable: order \d+ is being confirmed$/),
};

describe('a failing provider', () => {
  const service = forAllTests(() =>
    startTestService({ environment: { PROVIDER_TIMEOUT_MS: '600', SETTLEMENT_DELAY_SECONDS: '1' } }),
  );
  afterEach(async () => {
    await service.control.resetFaults();
    await service.audit();
  });

  const buy = (user: TestUser, period = 30) => user.buy({ period });
  const proxiesOf = async (user: TestUser) => (await user.api.GET('/proxies')).data ?? [];

  interface Order {
    readonly kind: string;
    readonly state: string;
    readonly searches: number;
    readonly settlementDelaySeconds: number;
  }

  async function orderOf({ id }: TestUser): Promise<Order> {
    const [order] = await service.dataSource.query(
      `SELECT kind, state, searches,
              extract(epoch FROM coalesce(closed_at, now()) - sent_before)::float8 AS "settlementDelaySeconds"
         FROM orders WHERE user_id = $1 ORDER BY id DESC LIMIT 1`,
      [id],
    );
    return order;
  }

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

  it.each<[string, FaultSpec]>([
    ['connection reset', { method: 'buy', kind: 'reset' }],
    ['no response in time', { method: 'buy', kind: 'hang', effect: false }],
    ['502', { method: 'buy', kind: 'http-status', status: 502 }],
    ['error 30', { method: 'buy', kind: 'error', errorId: 30 }],
    ['a web page', { method: 'buy', kind: 'html' }],
  ])(
    'leaves the money held until two searches have found nothing, then it is released: %s',
    async (_, fault) => {
      const user = await service.createUser({ balance: '500.00' });
      await service.control.addFault(fault);
      const { error, response } = await buy(user);
      expect(response.status).toBe(503);
      expect(error).toEqual(CONFIRMING);
      expect((await service.balanceOf(user)).held).not.toBe('0.00');
      await settled(user);
      expect(await service.balanceOf(user)).toEqual({ available: '500.00', held: '0.00' });
      expect((await orderOf(user)).settlementDelaySeconds).toBeGreaterThanOrEqual(1);
    },
  );

  it('releases nothing after a single check that finds nothing, however late it is', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    await buy(user);
    await eventually(async () => (await orderOf(user)).settlementDelaySeconds > 1);
    await service.control.resetFaults();
    await settled(user);
    const [searches] = await service.dataSource.query(
      `SELECT count(*) AS complete, extract(epoch FROM max(c.created_at) - min(c.created_at))::float8 AS apart
         FROM provider_calls c JOIN orders o ON o.id = c.order_id
        WHERE o.user_id = $1 AND c.method = 'getproxy' AND c.outcome = 'done'`,
      [user.id],
    );
    expect(searches.complete).toBeGreaterThanOrEqual(2);
    // A tenth of the settlement delay, less the duration of the searches themselves.
    expect(searches.apart).toBeGreaterThan(0.05);
  });

  it('does not treat a failed check as one that found nothing', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await service.control.addFault({ method: 'getproxy', kind: 'http-status', status: 500, times: null });
    await buy(user);
    await eventually(async () => (await orderOf(user)).searches >= 6);
    expect((await service.balanceOf(user)).held).not.toBe('0.00');
    await service.control.resetFaults();
    await settled(user);
    expect(await proxiesOf(user)).toHaveLength(1);
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

    it('the money is released when the end date has not moved', async () => {
      const user = await service.createUser();
      await buy(user);
      const [proxy] = await proxiesOf(user);
      const before = await service.balanceOf(user);
      await service.control.addFault({ method: 'prolong', kind: 'http-status', status: 502 });
      const { error } = await user.prolong(proxy?.id ?? '');
      expect(error).toEqual(CONFIRMING);
      await settled(user);
      expect(await service.balanceOf(user)).toEqual(before);
      expect(await proxiesOf(user)).toEqual([proxy]);
    });

    it('a yes is no success when the end date has not moved', async () => {
      const user = await service.createUser();
      // The proxy must not expire when a period is taken off: an expired one would be prolonged from now on.
      await buy(user, 60);
      const [proxy] = await proxiesOf(user);
      const before = await service.balanceOf(user);
      // A period is taken off first, so that the provider's yes comes with the old end date.
      const { error } = await prolongWhileEndMoves(user, proxy, -30);
      expect(error).toEqual(CONFIRMING);
      await settled(user);
      expect(await service.balanceOf(user)).toEqual(before);
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
