import { ProxyProvider } from '../src/provider';
import { outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, borrowed, forAllTests } from './support/fixtures';
import { holdPermits } from './support/hold-permits';
import { captureLog } from './support/log-capture';
import { passSettlementDelay } from './support/settlement-delay';
import { startTestService } from './support/test-service';

const UNAVAILABLE = { detail: 'Service temporarily unavailable' };

describe('the circuit breakers', () => {
  const log = forAllTests(captureLog);
  // The tests open breakers and read the whole balance.
  const service = forAllTests(() =>
    startTestService({
      environment: {
        PROVIDER_LOW_BALANCE: '500.00',
        LOG_LEVEL: 'info',
        // Rarely reached, but only a service with a limit lets a test hold calls back.
        PROVIDER_RATE_PER_SECOND: '100',
      },
      tuning: { breakerFailures: 3, breakerProbeMs: 200 },
    }),
  );
  const provider = forAllTests(() => service.app.get(ProxyProvider), borrowed);
  const user = forAllTests(() => service.createUser());
  beforeAll(async () => {
    // Fills the catalog's cache, so that a purchase makes only its own call.
    await buy();
  });
  beforeClosing(() => service.audit({ withProvider: true }));
  afterEach(async () => {
    await service.control.resetFaults();
    await service.control.setBalance('100000.00');
    await eventually(() => allClosed());
    // Every response contains the balance.
    await provider.proxiesByReference('none', { priority: 'confirmation' });
    await passSettlementDelay(service);
    await service.untilSettled();
  });

  const buy = (by = user) => by.buy();

  const stateOf = (name: string) =>
    provider.status().breakers.find((breaker) => breaker.name === name)?.state;

  const allClosed = () => provider.status().breakers.every(({ state }) => state === 'closed');
  const linesAbout = (text: string) => log.lines.filter((line) => line.includes(text));

  const traces = async () => {
    const [counts] = await service.dataSource.query(
      `SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM ledger_entries) AS entries`,
    );
    return { ...counts, calls: (await service.control.getCalls('buy')).length };
  };

  it('refuse a purchase at once and without a trace after failures, until a read succeeds', async () => {
    const opened = linesAbout('money: open').length;
    await service.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null });
    for (let failure = 0; failure < 3; failure += 1) expect((await buy()).response.status).toBe(503);
    const before = await traces();

    const refused = await buy();
    expect(outcomeOf(refused)).toEqual([503, UNAVAILABLE]);
    expect(Number(refused.response.headers.get('Retry-After'))).toBeGreaterThanOrEqual(1);
    expect(await traces()).toEqual(before);
    expect(stateOf('money')).not.toBe('closed');

    await service.control.clearCalls();
    await service.control.resetFaults();
    await eventually(() => stateOf('money') === 'closed');
    const probes = await service.control.getCalls();
    expect(probes.map(({ method }) => method)).toContain('getprice');
    expect(probes.map(({ method }) => method)).not.toContain('buy');
    expect((await buy()).response.status).toBe(200);
    expect(linesAbout('money: open')).toHaveLength(opened + 1);
    expect(linesAbout('money: closed')).toHaveLength(opened + 1);
  });

  it('count a refusal as a success, but a refusal of all our calls as a failure', async () => {
    const failures = { method: 'buy', kind: 'error', errorId: 100, times: 2 } as const;
    await service.control.addFault(failures);
    await buy();
    await buy();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 220 });
    expect((await buy()).response.status).toBe(400);
    await service.control.addFault(failures);
    await buy();
    await buy();
    expect(stateOf('money')).toBe('closed');
    await service.control.addFault({ method: 'any', kind: 'error', errorId: 100, times: null });
    await buy();
    expect(stateOf('money')).not.toBe('closed');
  });

  it('stop reads of a failing catalog, but neither orders nor reconciliation', async () => {
    await service.control.addFault({ method: 'getcount', kind: 'http-status', status: 500, times: null });
    await service.control.addFault({ method: 'getprice', kind: 'http-status', status: 500, times: null });
    const stock = () => provider.stock('ru', '6', { priority: 'price' });
    for (let failure = 0; failure < 3; failure += 1) {
      await expect(stock()).rejects.toMatchObject({ name: 'ProviderOutcomeUnknown' });
    }
    const requested = (await service.control.getCalls('getcount')).length;
    await expect(stock()).rejects.toMatchObject({ name: 'ProviderClosed' });
    expect(await service.control.getCalls('getcount')).toHaveLength(requested);
    await expect(provider.proxiesByReference('none', { priority: 'confirmation' })).resolves.toEqual([]);
    expect((await buy()).response.status).toBe(200);
    await service.control.resetFaults();
    await eventually(() => stateOf('reads') === 'closed');
    await expect(stock()).resolves.toBeGreaterThan(0);
  });

  it('refuse purchases for lack of funds until a read shows a balance that covers the order', async () => {
    const opened = linesAbout('funds: open').length;
    await service.control.setBalance('0.01');
    expect(outcomeOf(await buy())).toEqual([503, UNAVAILABLE]);
    const before = await traces();

    await service.control.clearCalls();
    await service.control.setBalance('0.02');
    await eventually(async () => (await service.control.getCalls('getprice')).length >= 2);
    expect(outcomeOf(await buy())).toEqual([503, UNAVAILABLE]);
    expect(await traces()).toEqual({ ...before, calls: 0 });
    expect(stateOf('funds')).not.toBe('closed');
    expect(provider.spendable()).toBe('0.02');

    await service.control.setBalance('1000.00');
    await eventually(() => stateOf('funds') === 'closed');
    expect((await buy()).response.status).toBe(200);
    expect(linesAbout('funds: open')).toHaveLength(opened + 1);
    expect(linesAbout('funds: closed')).toHaveLength(opened + 1);
  });

  it('stay closed when one order costs more than the known balance: only that order is refused', async () => {
    await service.control.setBalance('100.00');
    expect((await buy()).response.status).toBe(200);
    const before = await traces();
    const large = { country: 'ru', period: 30, count: 10 };
    const refused = await user.buy(large);
    expect(outcomeOf(refused)).toEqual([503, UNAVAILABLE]);
    expect(Number(refused.response.headers.get('Retry-After'))).toBeGreaterThan(0);
    const poor = await service.createUser({ balance: '1.00' });
    expect((await poor.buy(large)).error).toEqual({ detail: 'Insufficient balance' });
    expect(await traces()).toEqual({ ...before, entries: before.entries + 1 });
    expect((await buy()).response.status).toBe(200);
    await service.control.setBalance('100000.00');
    await eventually(async () => (await user.buy(large)).response.status === 200);
  });

  it('let smaller orders through after two together cost more than the balance', async () => {
    await service.control.setBalance('100.00');
    expect((await buy()).response.status).toBe(200);
    const large = (country: string) => user.buy({ country, count: 3 });
    // Each costs 62.70 of 79.10; both are sent before either has a response.
    const gates = await Promise.all(
      ['ru', 'de'].map((country) =>
        service.control.addGate({ method: 'buy', stage: 'received', match: { country } }),
      ),
    );
    const both = [large('ru'), large('de')];
    await Promise.all(gates.map((gate) => service.control.untilGateReached(gate)));
    for (const gate of gates) await service.control.openGate(gate);
    const statuses = (await Promise.all(both)).map(({ response }) => response.status);
    expect(statuses.sort((one, other) => one - other)).toEqual([200, 503]);
    // The remaining 16.40 do not pay for another one.
    expect((await large('ru')).response.status).toBe(503);
    await service.control.setPrice('6', 7, '2.95');
    expect((await user.buy({ period: 7 })).response.status).toBe(200);
    expect(stateOf('funds')).not.toBe('closed');
  });

  it('close again at once after a refusal for lack of funds when the balance is high enough', async () => {
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 400 });
    expect((await buy()).response.status).toBe(503);
    await eventually(() => stateOf('funds') === 'closed');
  });

  it('show the balance to staff alone, who are warned once when it is low', async () => {
    const LOW = 'balance at the provider is low';
    const HIGH = 'balance at the provider is no longer low';
    const storedBalance = async () =>
      (await service.dataSource.query('SELECT balance, is_low FROM provider_accounts'))[0];
    await eventually(async () => (await buy()) && !(await storedBalance()).is_low);
    const before = { low: linesAbout(LOW).length, high: linesAbout(HIGH).length };

    await service.control.setBalance('432.10');
    const responses = [await buy()];
    await eventually(() => linesAbout(LOW).length > before.low);
    const { balance: first } = await storedBalance();
    responses.push(await buy());
    await eventually(async () => (await storedBalance()).balance !== first);
    expect(linesAbout(LOW)).toHaveLength(before.low + 1);
    const amount = provider.spendable();
    expect(Number(amount)).toBeLessThan(432.1);

    const seen = [
      ...responses.map(({ data }) => data),
      (await user.api.GET('/me')).data,
      (await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } })).data,
    ];
    expect(seen).not.toContain(undefined);
    for (const secret of [amount, first, '432.10']) expect(JSON.stringify(seen)).not.toContain(secret);

    await service.control.setBalance('9000.00');
    await buy();
    await eventually(() => linesAbout(HIGH).length > before.high);
    expect(linesAbout(HIGH)).toHaveLength(before.high + 1);
    expect(log.lines.join('')).not.toContain(service.sandbox.apiKey);
  });

  it('refund a queued order that costs more than the balance without a call, and buy others', async () => {
    const order = (country: string, count: number) => user.buy({ country, count });
    for (const country of ['de', 'nl']) {
      await user.api.GET('/countries/{country}/count', { params: { path: { country }, query: {} } });
    }
    await service.control.setBalance('121.00');
    expect((await order('ru', 1)).response.status).toBe(200);
    await service.control.clearCalls();
    // The balance of 100.10 does not cover 62.70, 62.70 and 20.90.
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const first = order('ru', 3);
    await service.control.untilGateReached(gate);
    const queued = await holdPermits(service.dataSource, async () => {
      const placed = [];
      for (const [country, count] of [
        ['de', 3],
        ['nl', 1],
      ] as const) {
        placed.push(order(country, count));
        await eventually(async () => {
          const [row] = await service.dataSource.query(
            `SELECT count(*) AS count FROM orders WHERE state = 'reserved'`,
          );
          return row.count === placed.length;
        });
      }
      await service.control.openGate(gate);
      expect((await first).response.status).toBe(200);
      return placed;
    });
    expect((await Promise.all(queued)).map(({ response }) => response.status)).toEqual([503, 200]);
    const calls = await service.control.getCalls('buy');
    expect(calls.map(({ parameters }) => parameters['country'])).toEqual(['ru', 'nl']);
    expect(
      await service.dataSource.query(
        `SELECT failure FROM orders WHERE country = 'de' ORDER BY id DESC LIMIT 1`,
      ),
    ).toEqual([{ failure: 'out-of-funds' }]);
  });
});
