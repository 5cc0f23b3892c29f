import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { readEnvironment } from '../src/config';
import { EventPageReader } from '../src/events';
import { longestOrderMs } from '../src/orders';
import { PriceRulesService } from '../src/pricing';
import { ProxyProvider } from '../src/provider';
import { eventually } from './support/built-service';
import { startTestService, type TestService } from './support/test-service';

const isRefused = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    (error: { cause?: { code?: string } }) => error.cause?.code === 'ECONNREFUSED',
  );

// Each test closes a service of its own.
describe('A service that is closed', () => {
  it('takes no more connections, and charges the orders in flight by the rules of the moment', async () => {
    const service = await startTestService({ environment: { PROVIDER_TIMEOUT_MS: '20000' } });
    const user = await service.createUser();
    await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    // The provider has one order; another one waits for its stock, and so has no price yet.
    const buying = await service.control.addGate({ method: 'buy', stage: 'received' });
    const first = user.buy();
    await service.control.untilGateReached(buying);
    const reading = await service.control.addGate({ method: 'getcount', stage: 'received' });
    const second = user.buy({ country: 'de' });
    await service.control.untilGateReached(reading);

    const rules = service.app.get(PriceRulesService);
    const { dataSource } = service;
    const closed = service.app.close();
    const isListening = !(await eventually(() => isRefused(`${service.baseUrl}/health`)).catch(() => false));
    const rule = await rules.add({ markupPercent: '100' }, { by: 'anna', reason: 'test' });
    await eventually(async () => {
      const [{ isIn }] = await dataSource.query('SELECT clock_timestamp() > $1::timestamptz AS "isIn"', [
        new Date(rule.validFrom.getTime() + 200),
      ]);
      return isIn;
    });
    await service.control.openGate(reading);
    await service.control.openGate(buying);
    const charged = (await Promise.all([first, second])).map(({ data }) => data?.price_charged);
    await closed;
    await service.sandbox.close();
    expect({ isListening, charged }).toEqual({ isListening: false, charged: ['25.08', '41.80'] });
  });

  it('waits for orders whose callers have gone', async () => {
    const service = await startTestService({ environment: { PROVIDER_TIMEOUT_MS: '20000' } });
    const user = await service.createUser();
    const gate = await service.control.addGate({ method: 'getcount', stage: 'received' });
    const caller = new AbortController();
    const order = { body: { country: 'ru', period: 30 }, signal: caller.signal };
    const requested = user.api.POST('/proxies/buy', order).catch(() => undefined);
    await service.control.untilGateReached(gate);
    caller.abort();
    await requested;
    const closed = service.app.close();
    await eventually(() => isRefused(`${service.baseUrl}/health`));
    await service.control.openGate(gate);
    await closed;
    expect(await service.control.getCalls('buy')).toHaveLength(1);
    expect((await service.control.getState()).sales).toHaveLength(1);
    await service.sandbox.close();
  });

  it('does not wait for idle connections, also after one hung up in the middle of a request', async () => {
    const service = await startTestService();
    const user = await service.createUser();
    const { hostname, port } = new URL(service.baseUrl);
    const request = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\n\r\n`;
    const open = async (path: string): Promise<Socket> => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', () => undefined).write(request(path));
      await once(socket, 'connect');
      return socket;
    };
    const waits = service.app.get(EventPageReader).awaited;
    // The events of the new user may come after now.
    const leaving = await open('/events?after=now&type=order.completed&wait=30');
    await eventually(() => Promise.resolve(waits.count() === 1));
    leaving.destroy();
    await eventually(() => Promise.resolve(waits.count() === 0));
    // The remains of an earlier connection read one of these.
    const idle = await Promise.all(Array.from({ length: 3 }, () => open('/health')));
    await Promise.all(idle.map((socket) => once(socket, 'data')));
    const startedAtMs = performance.now();
    await service.close();
    for (const socket of idle) socket.destroy();
    expect(performance.now() - startedAtMs).toBeLessThan(15_000);
  });

  it('waits for no run of a job that waits for an open circuit breaker', async () => {
    const service: TestService = await startTestService({
      environment: { SWEEP_INTERVAL_SECONDS: '1' },
      tuning: { breakerFailures: 3, breakerProbeMs: 600_000 },
    });
    await service.control.addFault({ method: 'any', kind: 'http-status', status: 500, times: null });
    const provider = service.app.get(ProxyProvider);
    for (let failure = 0; failure < 3; failure += 1) {
      await provider.countries('6').catch(() => undefined);
    }
    await eventually(
      async () => (await service.dataSource.query(`SELECT FROM job_runs WHERE name = 'sweep'`)).length > 0,
    );
    const startedAtMs = performance.now();
    await service.close();
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });

  it('is given the time for its longest order by compose.yaml', async () => {
    const compose = await readFile(join(__dirname, '..', 'docker', 'compose.yaml'), 'utf8');
    const [, seconds] = /# The longest order[^]*?stop_grace_period: (\d+)s/.exec(compose) ?? [];
    const defaults = readEnvironment({ DATABASE_URL: 'postgres://localhost/x', PROVIDER: 'sandbox' });
    // Work after the last response, such as a statement, takes time too.
    expect(Number(seconds) * 1000).toBeGreaterThanOrEqual(longestOrderMs(defaults) + 35_000);
  });
});
