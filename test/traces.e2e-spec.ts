import { Logger } from '@nestjs/common';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import { ALL_STAFF_SCOPES } from '../src/auth';
import { Metrics, MetricsServer } from '../src/metrics';
import { inSpan } from '../src/tracing';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { queueTogether } from './support/hold-permits';
import { knowCatalog } from './support/know-catalog';
import { captureLog } from './support/log-capture';
import { type ReceivedSpan, startOtlpReceiver } from './support/otlp-receiver';
import { sendRaw } from './support/raw-http';
import { createStaff } from './support/staff';
import { startTcpRelay } from './support/tcp-relay';
import { startTestService, type TestUser } from './support/test-service';

const PURCHASES = 5;
const PERIOD = { country: 'ru', period: 30 };
const FAULTS = [
  { kind: 'error', errorId: 100 },
  { kind: 'reset' },
  { kind: 'html' },
  { kind: 'truncated-json' },
] as const;

describe('Traces', () => {
  const log = forAllTests(captureLog);
  const ended = forAllTests(
    () => jest.spyOn(BatchSpanProcessor.prototype, 'onEnd'),
    (spy) => spy.mockRestore(),
  );
  const receiver = forAllTests(startOtlpReceiver);
  const relay = forAllTests(startTcpRelay);
  // Traces, metrics and logs are settings of a service.
  const service = forAllTests(() =>
    startTestService({
      environment: {
        TRACES_URL: receiver.url,
        METRICS_PORT: '0',
        LOG_LEVEL: 'debug',
        PROVIDER_RATE_PER_SECOND: '50',
        ECHO_URL: `http://127.0.0.1:${relay.port}/echo`,
      },
      tuning: { proxyCheckTimeoutMs: 600 },
    }),
  );
  beforeAll(() => {
    relay.target = Number(new URL(service.baseUrl).port);
  });

  const sendNow = (): Promise<unknown> =>
    Promise.all([...new Set(ended.mock.contexts)].map((processor) => processor.forceFlush()));

  async function spanOf(requestId: string): Promise<ReceivedSpan> {
    const traceId = await eventually(() => lineOf(requestId)?.['traceId']);
    return eventually(async () => {
      await sendNow();
      const spans = traceOf(String(traceId));
      const ids = new Set([undefined, ...spans.map(({ spanId }) => spanId)]);
      // A span arrives before its parent.
      const isWhole = spans.every(({ parentSpanId }) => ids.has(parentSpanId));
      return isWhole && spans.find(({ parentSpanId }) => parentSpanId === undefined);
    });
  }

  const lineOf = (requestId: string): Record<string, unknown> | undefined =>
    log.lines
      .map((line): Record<string, unknown> => JSON.parse(line))
      .find((line) => line['message'] === 'request' && line['requestId'] === requestId);

  const traceOf = (traceId: string): ReceivedSpan[] =>
    receiver.spans.filter((span) => span.traceId === traceId);

  function treeOf(span: ReceivedSpan): unknown {
    const below = receiver.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
    return below.length === 0 ? span.name : { [span.name]: below.map(treeOf) };
  }

  const below = (span: ReceivedSpan, name: string): ReceivedSpan | undefined =>
    receiver.spans.find((one) => one.name === name && one.traceId === span.traceId);

  const buy = ({ api }: TestUser, requestId: string, headers: Record<string, string> = {}) =>
    api.POST('/proxies/buy', { body: PERIOD, headers: { 'X-Request-Id': requestId, ...headers } });

  async function allQueued(orders: readonly (() => Promise<unknown>)[]): Promise<void> {
    await knowCatalog((await service.createUser()).api);
    await queueTogether(service.dataSource, orders);
  }

  it('show the way of an order from the request to its settlement', async () => {
    const user = await service.createUser();
    await buy(user, 'first');
    const { data } = await buy(user, 'bought');
    const request = await spanOf('bought');

    expect(treeOf(request)).toEqual({
      'POST /proxies/buy': expect.arrayContaining([
        'order.reserve',
        'order.queue',
        { 'orders.send': ['provider.buy', 'orders.settle'] },
      ]),
    });
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/proxies/buy',
      'http.response.status_code': 200,
      'user.id': String(user.id),
    });
    expect(below(request, 'orders.send')?.attributes).toEqual({
      'order.kind': 'purchase',
      'order.ids': [data?.order_id],
    });
    expect(below(request, 'provider.buy')?.attributes).toEqual({
      'provider.method': 'buy',
      'provider.outcome': 'done',
      'http.response.status_code': 200,
    });
  });

  it('show the reading of a date of a prolongation, too', async () => {
    const user = await service.createUser();
    const { data } = await buy(user, 'to-prolong');
    await user.api.POST('/proxies/{proxy_id}/prolong', {
      params: { path: { proxy_id: data?.proxies[0]?.id ?? '' } },
      body: { period: 30 },
      headers: { 'X-Request-Id': 'prolonged' },
    });

    expect(treeOf(await spanOf('prolonged'))).toEqual({
      'POST /proxies/{proxy_id}/prolong': expect.arrayContaining([
        'order.reserve',
        { 'orders.read_ends': ['provider.getproxy'] },
        'order.queue',
        { 'orders.send': ['provider.prolong', 'orders.settle'] },
      ]),
    });
  });

  it('of orders in one call are connected by links', async () => {
    const users = await Promise.all([1, 2, 3].map(() => service.createUser()));
    await allQueued(users.map((user, n) => () => buy(user, `together-${n}`)));

    const requests = await Promise.all(users.map((_, n) => spanOf(`together-${n}`)));
    const calls = requests.flatMap((request) => below(request, 'orders.send') ?? []);
    expect(calls).toHaveLength(1);
    const [call] = calls;
    const others = requests.filter(({ traceId }) => traceId !== call?.traceId);
    expect(call?.links.map(({ spanId }) => spanId)).toEqual(
      expect.arrayContaining(others.map(({ spanId }) => spanId)),
    );
    for (const { links } of others) {
      expect(links).toEqual([expect.objectContaining({ traceId: call?.traceId, spanId: call?.spanId })]);
    }
  });

  it('say which call failed, and not what the provider said', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    expect((await buy(user, 'refused')).response.status).toBe(400);

    const request = await spanOf('refused');
    expect(below(request, 'provider.buy')).toMatchObject({
      hasFailed: true,
      attributes: { 'provider.outcome': 'refused', 'error.type': 'ProviderRefused' },
    });
    expect(below(request, 'orders.settle')?.attributes).toEqual({ 'order.outcome': 'failed' });
    expect(request.hasFailed).toBe(false);
  });

  it('begin at the service: what a caller says of its own trace becomes a link', async () => {
    const user = await service.createUser();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    await buy(user, 'of-a-caller', { traceparent: `00-${traceId}-${spanId}-00` });
    const request = await spanOf('of-a-caller');
    expect(request.traceId).not.toBe(traceId);
    expect(request.links).toEqual([expect.objectContaining({ traceId, spanId })]);

    await buy(user, 'of-nobody', { traceparent: `00-${'0'.repeat(32)}-${spanId}-01` });
    expect((await spanOf('of-nobody')).links).toEqual([]);
  });

  it('name each log line of their request', async () => {
    const user = await service.createUser();
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await buy(user, 'with-lines');
    const { traceId } = await spanOf('with-lines');
    const lines = log.lines.filter((line) => line.includes('"requestId":"with-lines"'));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ traceId });
  });

  it('leave each order its own log lines, whichever request has woken the queue', async () => {
    const users = await Promise.all([1, 2].map(() => service.createUser()));
    for (const _ of users) await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await allQueued(
      users.map(({ api }, n) => () => {
        const headers = { 'X-Request-Id': `of-${n}` };
        return api.POST('/proxies/buy', { body: { ...PERIOD, period: [30, 60][n] ?? 0 }, headers });
      }),
    );
    for (const n of users.keys()) {
      const lines = log.lines.filter((line) => line.includes(`"requestId":"of-${n}"`));
      expect(lines.filter((line) => line.includes('nothing was bought'))).toHaveLength(1);
    }
  });

  describe('with logs', () => {
    const secrets = new Map<string, string>();
    const keep = (name: string, secret: string | undefined): string => {
      if (!secret) throw new Error(`there is no ${name}`);
      secrets.set(name, secret);
      return secret;
    };

    /** The names of the secrets that a text contains. Short secrets must be whole words. */
    const leaks = (texts: readonly string[]): string[] => {
      const text = texts.join('\n');
      return [...secrets].flatMap(([name, secret]) => {
        const escaped = secret.replaceAll(/[^\w]/g, String.raw`\$&`);
        return new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`).test(text) ? [name] : [];
      });
    };

    async function scrape(): Promise<string> {
      const { url } = service.app.get(MetricsServer);
      if (url === undefined) throw new Error('nothing is measured');
      return (await fetch(url)).text();
    }

    async function live(): Promise<void> {
      const { control, sandbox } = service;
      const user = await service.createUser();
      const staff = await createStaff(service, [...ALL_STAFF_SCOPES, 'profile:read']);
      keep('key of the provider', sandbox.apiKey);
      keep('URL of the provider', `${sandbox.baseUrl}/api`);
      keep('password of the database', new URL(service.databaseUrl).password);
      const token = keep('token', user.token);
      keep('staff token', staff.token);
      const { POST, GET } = user.api;
      const { data } = await POST('/proxies/buy', { body: { ...PERIOD, count: 2 } });
      for (const { id, login, password } of data?.proxies ?? []) {
        keep(`login of ${id}`, login);
        keep(`password of ${id}`, password);
        const params = { path: { proxy_id: id } };
        await GET('/proxies/{proxy_id}/ping', { params });
        await GET('/proxies/{proxy_id}/check', { params });
        await POST('/proxies/{proxy_id}/prolong', { params, body: { period: 30 } });
      }
      await POST('/proxies/prolong', {
        body: { ids: data?.proxies.map(({ id }) => id) ?? [], period: 30 },
        params: { header: { 'idempotency-key': 'bulk-1' } },
        headers: { 'Idempotency-Key': 'bulk-1' },
      } as never);
      for (const fault of FAULTS) {
        await control.addFault({ method: 'buy', ...fault });
        await POST('/proxies/buy', { body: PERIOD });
      }
      await GET('/proxies/export');
      const send = (path: string, options: object = {}) => sendRaw(service.baseUrl, { path, ...options });
      const { data: link } = await POST('/links', { body: { format: 'txt' } });
      const secret = keep('secret of a link', link?.url.split('/').at(-1));
      for (const path of [`/l/${secret}`, `/l/${secret}/`, `/L/${secret}`, `/l/${secret}?x=${secret}`]) {
        await send(path);
      }
      const url = 'https://127.0.0.1/hooks/Sesame-opens-it?key=Sesame-opens-it';
      const { data: webhook } = await POST('/webhooks', { body: { url } });
      const webhookSecret = keep('secret of a webhook', webhook?.secret);
      keep('secret in the URL of a webhook', 'Sesame-opens-it');
      await send(`/webhooks/${webhook?.id}/test`, { method: 'POST', token });
      await send(`/me?access_token=${token}`);
      await send(`/${token}`, { token: `${token}x` });
      await send('/me', { token, headers: { traceparent: token, tracestate: `a=${token}`, baggage: token } });
      const issued = await staff.post<{ token: string }>(`/staff/users/${user.id}/tokens`, {
        name: 'issued',
        scopes: ['profile:read'],
      });
      expect(issued).toMatchObject({ status: 201 });
      keep('issued token', issued.body.token);
      await staff.post(`/staff/users/${user.id}/credit`, { amount: '1.00', reason: token });
      await staff.get(`/staff/users?search=${token}`);
      await staff.post(`/staff/webhooks/${webhook?.id}/disable`, { reason: webhookSecret });
      await staff.get('/staff/webhooks');
      await staff.get('/staff/status');
    }

    it('tell no secret', async () => {
      await live();
      await eventually(async () => {
        await sendNow();
        return receiver.spans.some(({ name }) => name === 'GET /staff/status');
      });
      const routes = new Set(receiver.spans.flatMap(({ attributes }) => attributes['http.route'] ?? []));
      for (const route of ['/l/{secret}', '/proxies/export', '/staff/users/{user_id}/tokens']) {
        expect([...routes]).toContain(route);
      }
      expect(secrets.size).toBeGreaterThan(10);
      expect(leaks(receiver.bodies)).toEqual([]);
      expect(leaks(log.lines)).toEqual([]);
      expect(leaks([await scrape()])).toEqual([]);
    });

    it('would be caught showing one', async () => {
      const names = [...secrets.keys()];
      const metrics = service.app.get(Metrics);
      for (const secret of secrets.values()) {
        metrics.count('provider_calls_total', { method: secret, outcome: 'done' });
        new Logger('Test').log(`/${secret}/`);
        await inSpan('planted', { 'error.type': `${secret}?` }, async () => undefined);
      }
      await sendNow();
      expect(receiver.spans.filter(({ name }) => name === 'planted')).toHaveLength(names.length);
      expect(leaks(receiver.bodies)).toEqual(names);
      expect(leaks(log.lines)).toEqual(names);
      expect(leaks([await scrape()])).toEqual(names);
    });
  });
});

describe('A service whose collector', () => {
  async function buyAndEnd(url: string, ratio = '1'): Promise<number[]> {
    const service = await startTestService({
      environment: { TRACES_URL: url, TRACES_RATIO: ratio, LOG_LEVEL: 'warn' },
    });
    const user = await service.createUser();
    const buyOne = async () => (await user.buy()).response.status;
    const statuses = await Promise.all(Array.from({ length: PURCHASES }, buyOne));
    await service.close();
    return statuses;
  }

  const ALL_BOUGHT = Array<number>(PURCHASES).fill(200);

  it('is gone sells as ever, and says once that traces are lost', async () => {
    const log = captureLog();
    const closed = await startOtlpReceiver();
    await closed.close();
    const statuses = await buyAndEnd(closed.url);
    log.stop();
    expect(statuses).toEqual(ALL_BOUGHT);
    expect(log.lines.filter((line) => line.includes('traces are lost'))).toHaveLength(1);
  });

  it('is to be sent nothing sends nothing, with any headers of a caller', async () => {
    const receiver = await startOtlpReceiver();
    expect(await buyAndEnd(receiver.url, '0')).toEqual(ALL_BOUGHT);
    await receiver.close();
    expect(receiver.bodies).toEqual([]);
  });
});
