import http from 'node:http';
import net from 'node:net';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES } from '../src/auth';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { listen } from './support/listen';
import { insertProxies } from './support/proxy-rows';
import { startTestService, type TestUser } from './support/test-service';

const REFUSALS: [status: number, body: string][] = [
  [400, '{"status":"no","error_id":400,"error":"Error no money"}'],
  [404, '{"type":"error","code":"not_found"}'],
  [407, 'Who are you?'],
];

describe('HTTPS_PROXY', () => {
  let [refusal] = REFUSALS;
  const wanted = new Set<string | undefined>();
  const proxy = forAllTests(() =>
    http.createServer().on('connect', ({ url }, socket) => {
      const [status, body] = refusal ?? [502, ''];
      wanted.add(url);
      socket.resume();
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    }),
  );
  let firstLine = '';
  const customersProxy = forAllTests(() =>
    net.createServer((socket) => {
      socket.once('data', (data) => {
        firstLine = data.toString().split('\r\n')[0] ?? '';
        socket.destroy();
      });
    }),
  );
  // The proxy stands between the service and its providers.
  const service = forAllTests(async () =>
    startTestService({
      provider: { baseUrl: 'https://provider.test', apiKey: 'key' },
      environment: {
        PX6_BASE_URL: 'https://provider.test',
        PAYMENTS: 'yookassa',
        YOOKASSA_BASE_URL: 'https://payments.test/v3',
        YOOKASSA_SHOP_ID: '1',
        YOOKASSA_SECRET_KEY: 'live_key',
        DEPOSIT_RETURN_URL: 'https://shop.test/',
        TRACES_URL: 'https://collector.test/v1/traces',
        ECHO_URL: 'https://echo.test/echo',
        HTTPS_PROXY: `http://me:secret@127.0.0.1:${await listen(proxy)}`,
      },
    }),
  );

  const createPayer = () => service.createUser({ scopes: [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES] });
  const deposit = ({ api }: TestUser) =>
    api.POST('/deposits', {
      body: { amount: '100.00' },
      params: { header: { 'Idempotency-Key': 'refused' } },
    });

  it.each(REFUSALS)(
    'returns 503 for purchases and deposits when the proxy refuses with %i',
    async (...now) => {
      refusal = now;
      const user = await createPayer();
      expect((await user.buy()).response.status).toBe(503);
      expect((await deposit(user)).response.status).toBe(503);
      expect(await service.balanceOf(user)).toEqual({ available: '10000.00', held: '0.00' });
    },
  );

  it('is used for the providers and traces, and not for webhooks and checks of proxies', async () => {
    const user = await createPayer();
    await user.buy();
    await deposit(user);
    const port = String(await listen(customersProxy));
    const [id] = await insertProxies(service.dataSource, user.id, 1, { host: '127.0.0.1', port });
    await user.api.GET('/proxies/{proxy_id}/check', { params: { path: { proxy_id: String(id) } } });
    expect(firstLine).toBe('CONNECT echo.test:443 HTTP/1.1');
    const webhook = await user.api.POST('/webhooks', { body: { url: 'https://receiver.test/' } });
    const webhookId = webhook.data?.id ?? 0;
    await user.api.POST('/webhooks/{webhook_id}/test', { params: { path: { webhook_id: webhookId } } });
    const attempts = 'SELECT FROM webhook_attempts WHERE webhook_id = $1';
    await eventually(async () => (await service.dataSource.query(attempts, [webhookId])).length > 0);
    await eventually(() => wanted.size >= 3);
    expect(wanted).toEqual(new Set(['collector.test:443', 'payments.test:443', 'provider.test:443']));
  });
});
