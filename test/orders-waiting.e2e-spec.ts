import { OrderQueries } from '../src/orders';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { leaveOrderOpen } from './support/open-order';
import { startReplica } from './support/replica';
import { passSettlementDelay } from './support/settlement-delay';
import { sharedTestService, startTestService } from './support/test-service';

interface ServiceResponse {
  readonly status: number;
  readonly elapsedMs: number;
  readonly order: { readonly state: string; readonly id: number };
}

const RU_30 = { country: 'ru', period: 30 };

describe('A request that waits for the end of an order', () => {
  const service = forAllTests(sharedTestService);
  const replica = forAllTests(() => startReplica(service));
  const user = forEachTest(() => service.createUser());
  afterEach(async () => {
    jest.restoreAllMocks();
    await service.control.resetFaults();
    await service.untilSettled();
    await untilWaiting(0);
  });
  beforeClosing(() => service.audit({ withProvider: true }));

  const waits = () => service.app.get(OrderQueries).awaited;
  const untilWaiting = (count: number) => eventually(() => waits().count() === count);

  async function read(
    orderId: number | string,
    {
      wait = 30,
      baseUrl = service.baseUrl,
      signal,
    }: { wait?: number; baseUrl?: string; signal?: AbortSignal } = {},
  ): Promise<ServiceResponse> {
    const startedAtMs = performance.now();
    const response = await fetch(`${baseUrl}/orders/${orderId}?wait=${wait}`, {
      headers: { Authorization: `Bearer ${user.token}` },
      ...(signal && { signal }),
    });
    const order = (await response.json()) as ServiceResponse['order'];
    return { status: response.status, order, elapsedMs: performance.now() - startedAtMs };
  }

  const buy = (key: string, baseUrl = service.baseUrl) =>
    fetchAs(user, 'POST', `${baseUrl}/proxies/buy`, RU_30, { 'Idempotency-Key': key });

  const latestOrder = async (): Promise<number> => {
    const [order] = await service.dataSource.query<{ id: number }[]>(
      'SELECT id FROM orders WHERE user_id = $1 ORDER BY id DESC LIMIT 1',
      [user.id],
    );
    return order?.id ?? 0;
  };

  async function whileOrderIsOpen<Result>(work: (orderId: number) => Promise<Result>): Promise<Result> {
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const response = buy('open');
    await service.control.untilGateReached(gate);
    const result = await work(await latestOrder());
    await service.control.openGate(gate);
    expect((await response).status).toBe(200);
    return result;
  }

  it('returns as soon as the order is delivered', async () => {
    const response = await whileOrderIsOpen(async (orderId) => {
      const waiting = read(orderId);
      // The request that placed the order waits too.
      await untilWaiting(2);
      return { waiting };
    });
    expect(await response.waiting).toMatchObject({ status: 200, order: { state: 'completed' } });
  });

  it('returns when another replica delivers it', async () => {
    const { waiting } = await whileOrderIsOpen(async (orderId) => {
      const { baseUrl } = replica;
      return { waiting: read(orderId, { baseUrl }) };
    });
    expect(await waiting).toMatchObject({ status: 200, order: { state: 'completed' } });
  });

  it('returns when reconciliation or staff end it', async () => {
    await leaveOrderOpen(service, user);
    const waiting = read(await latestOrder());
    await untilWaiting(1);
    await service.control.resetFaults();
    await passSettlementDelay(service);
    expect(await waiting).toMatchObject({ status: 200, order: { state: 'completed' } });
  });

  it('returns immediately when the order is closed, or without a time to wait', async () => {
    expect((await buy('closed')).status).toBe(200);
    const closed = await read(await latestOrder());
    expect(closed).toMatchObject({ status: 200, order: { state: 'completed' } });
    const open = await whileOrderIsOpen((orderId) => read(orderId, { wait: 0 }));
    expect(open).toMatchObject({ status: 200, order: { state: 'open' } });
    for (const { elapsedMs } of [closed, open]) expect(elapsedMs).toBeLessThan(10_000);
  });

  it('returns the state of the moment when its time is over', async () => {
    const { order, elapsedMs } = await whileOrderIsOpen((orderId) => read(orderId, { wait: 1 }));
    expect(order.state).toBe('open');
    expect(elapsedMs).toBeGreaterThanOrEqual(1000);
  });

  it('shares one statement each second with all others', async () => {
    await leaveOrderOpen(service, user);
    const orderId = await latestOrder();
    const looks: number[] = [];
    const looksMs: number[] = [];
    jest.spyOn(service.dataSource.logger, 'logQuery').mockImplementation((statement, parameters) => {
      const [ids] = (parameters ?? []) as unknown[][];
      // Reconciliation looks for the orders of its own batch.
      if (!statement.includes('AS "leftMs"') || !ids || ids.length === 1) return;
      looks.push(ids.length);
      looksMs.push(performance.now());
    });
    const callers = new AbortController();
    const waiting = Array.from({ length: 20 }, () =>
      read(orderId, { signal: callers.signal }).catch(() => null),
    );
    await untilWaiting(waiting.length);
    const others = Array.from({ length: 1000 }, (_, n) =>
      waits().until(1_000_000 + n, () => true, 60_000, callers.signal),
    );
    await eventually(() => looks.length > 1);
    const [first = 0, second = 0] = looksMs;
    expect(second - first).toBeGreaterThan(700);
    expect(looks).toEqual([1001, 1001]);
    callers.abort();
    await Promise.all([...waiting, ...others]);
    await untilWaiting(0);
    await service.control.resetFaults();
    await passSettlementDelay(service);
  });

  it('is named by the response to a replayed purchase, which is the same to the byte', async () => {
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const first = buy('first');
    await service.control.untilGateReached(gate);
    const replayed = await buy('first');
    const location = replayed.headers.get('Location');
    expect({ status: replayed.status, location, body: await replayed.text() }).toEqual({
      status: 409,
      location: `/orders/${await latestOrder()}`,
      body: '{"detail":"A request with this Idempotency-Key is in progress"}',
    });
    const waiting = read(location?.split('/').at(-1) ?? '');
    await service.control.openGate(gate);
    expect([(await first).headers.get('Location'), (await waiting).order.state]).toEqual([null, 'completed']);
  });

  it('is named by the response to an order whose outcome is unknown', async () => {
    const proxyId = (await user.buy()).data?.proxies[0]?.id ?? '';
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    const listing = { method: 'getproxy', kind: 'http-status', status: 500, times: null } as const;
    await service.control.addFault({ ...listing, match: { descr: 'prs*' } });
    const bought = await buy('unknown');
    const unknown = await latestOrder();
    const text = `Service temporarily unavailable: order ${unknown} is being confirmed`;
    expect(bought.status).toBe(503);
    expect(bought.headers.get('Location')).toBe(`/orders/${unknown}`);
    expect(bought.headers.get('Retry-After')).toBe('5');
    expect(await bought.text()).toBe(JSON.stringify({ detail: text }));
    expect((await buy('unknown')).headers.get('Location')).toBe(`/orders/${unknown}`);
    await service.control.resetFaults();
    await passSettlementDelay(service);
    expect((await read(unknown)).order.state).toBe('completed');

    const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
    await service.control.addFault({ method: 'prolong', kind: 'response-lost' });
    const prolonging = fetchAs(user, 'POST', `${service.baseUrl}/proxies/${proxyId}/prolong`, { period: 30 });
    await service.control.untilGateReached(gate);
    await service.control.addFault({ ...listing, match: { descr: 'prs*' } });
    await service.control.openGate(gate);
    const prolonged = await prolonging;
    expect(prolonged.status).toBe(503);
    expect(prolonged.headers.get('Location')).toBe(`/orders/${await latestOrder()}`);
    await service.control.resetFaults();
    await passSettlementDelay(service);
    expect((await read(await latestOrder())).order).toMatchObject({
      state: 'completed',
      kind: 'prolongation',
    });
  });
});

describe('A service that is closed', () => {
  it('returns the present state to the requests that wait for orders at once', async () => {
    const service = await startTestService({ tuning: { reconcileIntervalMs: 60_000 } });
    const user = await service.createUser();
    await leaveOrderOpen(service, user);
    const [order] = (await user.api.GET('/orders')).data?.items ?? [];
    const waiting = fetch(`${service.baseUrl}/orders/${order?.id}?wait=30`, {
      headers: { Authorization: `Bearer ${user.token}` },
    });
    await eventually(() => service.app.get(OrderQueries).awaited.count() === 1);
    const startedAtMs = performance.now();
    const closed = service.close();
    const response = await waiting;
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ id: order?.id, state: 'being_confirmed' }),
    ]);
    await closed;
  });
});
