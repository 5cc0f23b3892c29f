import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, request } from 'node:http';
import { quantile } from 'simple-statistics';
import { PaymentsSandbox } from '../../src/sandbox';
import { BUILD_TIMEOUT_MS } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { Replicas } from '../support/replicas';
import { paymentsEnvironment } from '../support/test-service';

/** How long another customer's requests are timed; 0: not at all. */
const ROUND_MS = inLongForm(1500, 0);
const TIMES = 3;
/** As a multiple of the processor time of `GET /me`. */
const MOST_WORK = 30;
/** As a multiple of the time without hostile input. */
const MOST_DELAY = 6;
/** As a multiple of the request. The specified routes repeat the input, and JSON escapes it. */
const MOST_RETURNED = 1.1;
const MOST_RETURNED_SPECIFIED = 7;

interface Hostile {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

const list = (count: number, text: string): string => `[${Array.from({ length: count }, () => text).join()}]`;
const object = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1])));
const get = (path: string, headers: Record<string, string> = {}): Hostile => ({ path, headers });
const post = (path: string, body: string | Buffer, type = 'application/json'): Hostile => ({
  path,
  method: 'POST',
  body,
  headers: { 'Content-Type': type },
});

const message = (members: string): Hostile => {
  const sent = post('/mcp', `{"jsonrpc":"2.0",${members}}`);
  return { ...sent, headers: { ...sent.headers, Accept: 'application/json, text/event-stream' } };
};
const call = (method: string, params: string): Hostile =>
  message(`"id":1,"method":"${method}","params":${params}`);
const initialize = (capabilities: string, icons: string): Hostile =>
  call(
    'initialize',
    `{"protocolVersion":"2025-11-25","capabilities":${capabilities},
      "clientInfo":{"name":"a","version":"1","icons":${icons}}}`,
  );
const MODERN = 'io.modelcontextprotocol/';
/** A call of MCP's revision of 2026. */
const modern = (meta: string, more = ''): Hostile => {
  const version = '2026-07-28';
  const called = call('tools/list', `{"_meta":{"${MODERN}protocolVersion":"${version}",${meta}}${more}}`);
  const headers = { 'MCP-Protocol-Version': version, 'Mcp-Method': 'tools/list' };
  return { ...called, headers: { ...called.headers, ...headers } };
};
const tool = (given: string): Hostile => call('tools/call', `{"name":"list_proxies","arguments":${given}}`);

const AGENTS: Readonly<Record<string, Hostile>> = {
  'icons that are numbers': initialize('{}', list(48_000, '1')),
  'icons without fields': initialize('{}', list(33_000, '{}')),
  'experimental capabilities': initialize(`{"experimental":${object(8000)}}`, '[]'),
  'unknown capabilities': initialize(object(8000), '[]'),
  metadata: call('tools/list', `{"_meta":${object(8000)}}`),
  'metadata of 2026': modern(`"${MODERN}clientCapabilities":{},${object(8000).slice(1, -1)}`),
  'icons of 2026': modern(`"${MODERN}clientCapabilities":{},
    "${MODERN}clientInfo":{"name":"a","version":"1","icons":${list(48_000, '1')}}`),
  'capabilities of 2026': modern(`"${MODERN}clientCapabilities":{"experimental":${object(8000)}}`),
  'responses of 2026': modern(`"${MODERN}clientCapabilities":{}`, `,"inputResponses":${object(8000)}`),
  'parameters that are a list': call('tools/list', list(48_000, '1')),
  'a task': call('tools/call', `{"name":"get_balance","task":${object(8000)}}`),
  'unknown arguments': tool(object(8000)),
  'an argument that is a list': tool(`{"country":${list(48_000, '1')}}`),
  'nested arguments': tool(`{"a":${'['.repeat(48_000)}${']'.repeat(48_000)}}`),
  'a long argument': tool(`{"${'\\"'.repeat(48_000)}":1}`),
  'a long tool': call('tools/call', `{"name":"${'\\"'.repeat(48_000)}"}`),
  'a long method': call('\\u0001'.repeat(16_000), '{}'),
  'a result': message(`"id":1,"result":${object(8000)}`),
  'an error': message(`"id":1,"error":{"code":1,"message":"","data":${list(48_000, '1')}}`),
  'a notification': message(`"method":"notifications/progress","params":${object(8000)}`),
  'a cancellation': message(`"method":"notifications/cancelled","params":{"requestId":${list(48_000, '1')}}`),
};

const SPECIFIED: Readonly<Record<string, Hostile>> = {
  numbers: post('/proxies/buy', `{"a":${list(19_000, '1e15')}}`),
  'control characters': post('/proxies/buy', Buffer.alloc(98_000, 1), 'text/plain'),
  'no text': post('/proxies/buy', Buffer.alloc(98_000, 0xff), 'text/plain'),
  'a form of parts': post(
    '/proxies/buy',
    '--a\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(1500),
    'multipart/form-data; boundary=a',
  ),
  'an integer': post('/proxies/buy', `{"country":"ru","period":"${'1_'.repeat(49_000)}"}`),
  integers: post('/proxies/buy', `{"country":"ru","period":${list(23, '9'.repeat(4200))}}`),
  'a type with parameters': post('/proxies/buy', '{}', `application/json;${'a=b;'.repeat(3500)}`),
  'a key': {
    ...post('/proxies/buy', '{}'),
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"'.repeat(15_000) },
  },
  'a query': get(`/price?${Array.from({ length: 2000 }, (_, n) => `a${n}=1`).join('&')}`),
  'escapes in a query': get(`/price?count=${'%ff'.repeat(5000)}`),
  'escapes in a path': get(`/proxies/${'%ff'.repeat(5000)}/ping`),
  slashes: get('/'.repeat(15_000)),
  cookies: get('/me', { Cookie: 'a=1;'.repeat(3500) }),
  addresses: get('/me', { 'X-Forwarded-For': list(7000, '1') }),
  'a trace': get('/me', { traceparent: '00-'.repeat(2000), baggage: 'a=b,'.repeat(2000) }),
};

const OTHERS: Readonly<Record<string, Hostile>> = {
  'unknown fields': post('/proxies/prolong', object(8000)),
  'a list of ids': post('/proxies/prolong', `{"proxy_ids":${list(48_000, '1')},"period":30}`),
  'ids of nothing': post('/proxies/ping', `{"proxy_ids":${list(1000, '"x"')}}`),
  'a URL': post('/webhooks', `{"url":"https://${'xn--a.'.repeat(330)}"}`),
  'types of events': post('/webhooks', `{"url":"https://a.example","types":${list(19_000, '"x"')}}`),
  'a template': get(`/proxies/lists/template?template=${'{login}'.repeat(2000)}`),
  'a date': get(`/ledger?from=${'2026-'.repeat(3000)}`),
  'an unknown query': get(`/orders?${Array.from({ length: 2000 }, (_, n) => `a${n}=1`).join('&')}`),
  'types to accept': get('/ledger', { Accept: 'a/b,'.repeat(3500) }),
  'weights to accept': get('/events?limit=1', { Accept: 'a/b;q=0.1,'.repeat(1300) }),
  tags: get('/proxies/lists/txt', { 'If-None-Match': '"a",'.repeat(3500) }),
  'a sign-in': post('/auth/telegram', `{"initData":"${'a=1&'.repeat(4000)}hash=1"}`),
  'a notification of payments': post('/payments/yookassa/notifications', object(1500)),
  'a call of PROXY6': get(`/api/TOKEN/prolong?period=30&ids=${list(7000, '1')}`),
};

const CASES = [
  ...Object.entries(AGENTS).map(([what, one]) => ['MCP', what, one] as const),
  ...Object.entries(SPECIFIED).map(([what, one]) => ['a specified route', what, one] as const),
  ...Object.entries(OTHERS).map(([what, one]) => ['another route', what, one] as const),
];

describe('Hostile input of one connection', () => {
  const payments = forAllTests(() => PaymentsSandbox.start());
  const replicas = forAllTests(() =>
    Replicas.open({
      environment: {
        ...paymentsEnvironment(payments),
        PX6_COMPATIBLE: 'on',
        TELEGRAM_BOT_TOKEN: `123456:${'a'.repeat(35)}`,
      },
    }),
  );
  const service = forAllTests(() => replicas.start());
  const attacker = forAllTests(() => replicas.createCustomer());
  const other = forAllTests(() => replicas.createCustomer());
  const connections = forAllTests(
    () => [1, 2].map(() => new HttpAgent({ keepAlive: true, maxSockets: 1 })),
    (opened) => opened.forEach((one) => one.destroy()),
  );

  function send(connection: number, token: string, { path, method = 'GET', headers, body }: Hostile) {
    return new Promise<{ bytes: number }>((resolve, reject) => {
      const sent = request(service.baseUrl + path.replace('TOKEN', token), {
        method,
        agent: connections[connection],
        headers: { Authorization: `Bearer ${token}`, ...headers },
      });
      sent.on('error', reject).on('response', (response) => {
        let bytes = 0;
        response.on('data', (part: Buffer) => void (bytes += part.length));
        response.on('end', () => resolve({ bytes }));
      });
      sent.end(body);
    });
  }

  /** Processor milliseconds of the event loop's thread for each request. */
  async function workOf(times: number, work: () => Promise<unknown>): Promise<number> {
    const usedMs = async () =>
      Number((await readFile(`/proc/${service.pid}/schedstat`, 'utf8')).split(' ', 1)[0]) / 1e6;
    const beforeMs = await usedMs();
    for (let n = 0; n < times; n += 1) await work();
    return ((await usedMs()) - beforeMs) / times;
  }

  async function medianMs(untilMs: number): Promise<number> {
    const times: number[] = [];
    do {
      const startedMs = performance.now();
      await send(0, other.token, get('/me'));
      times.push(performance.now() - startedMs);
    } while (performance.now() < untilMs);
    return quantile(times, 0.5);
  }

  beforeAll(async () => {
    await send(1, attacker.token, call('tools/list', '{}'));
    await medianMs(performance.now() + 1000);
  }, BUILD_TIMEOUT_MS);

  it.each(CASES)('takes little time, and is not returned at length: %s, %s', async (...row) => {
    const [where, what, hostile] = row;
    let bytes = 0;
    const attack = async () => void ({ bytes } = await send(1, attacker.token, hostile));
    const usual = await workOf(20, () => send(0, other.token, get('/me')));
    const work = (await workOf(TIMES, attack)) / usual;
    const given =
      JSON.stringify([hostile.path, hostile.headers]).length + Buffer.byteLength(hostile.body ?? '');
    let line = `${where}, ${what}: ${work.toFixed(0)} GET /me, ${given} → ${bytes} bytes`;
    if (ROUND_MS > 0) {
      const quiet = await medianMs(performance.now() + ROUND_MS);
      const endMs = performance.now() + ROUND_MS;
      const attackUntilEnd = async () => {
        do await attack();
        while (performance.now() < endMs);
      };
      const [attacked] = await Promise.all([medianMs(endMs), attackUntilEnd()]);
      line += `, p50 ${quiet.toFixed(1)} → ${attacked.toFixed(1)} ms (${(attacked / quiet).toFixed(1)})`;
      expect(attacked / quiet).toBeLessThan(MOST_DELAY);
    }
    process.stdout.write(`${line}\n`);
    expect(work).toBeLessThan(MOST_WORK);
    expect(bytes / given).toBeLessThan(
      where === 'a specified route' ? MOST_RETURNED_SPECIFIED : MOST_RETURNED,
    );
  });
});
