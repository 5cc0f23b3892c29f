import Ajv2020 from 'ajv/dist/2020';
import { ALL_SCOPES, type Scope, TokensService } from '../src/auth';
import { connectAgent, type Revision } from './support/agent';
import { forAllTests } from './support/fixtures';
import { sharedTestService } from './support/test-service';

const REVISIONS: readonly [Revision, string][] = [
  ['legacy', '2025-11-25'],
  ['modern', '2026-07-28'],
];
const TOOLS = [
  'list_countries get_stock get_price list_proxies export_proxies check_proxy get_refund list_orders',
  'get_order list_ledger get_balance list_renewals forecast_renewals',
  'prepare_purchase prepare_prolongation place_order request_refund',
]
  .join(' ')
  .split(' ');
const FINAL = ['place_order', 'request_refund'];
/** Gemini's keywords without `default`, because OpenAI's strict mode wants null for optional values. */
const GEMINI_WORDS = new Set(
  [
    'type properties required description additionalProperties anyOf enum items minItems maxItems',
    'minLength maxLength minimum maximum pattern format',
  ]
    .join(' ')
    .split(' '),
);

function wordsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(wordsOf);
  return Object.entries(schema).flatMap(([word, value]) => [
    word,
    ...(word === 'properties' ? Object.values(value as object) : [word === 'enum' ? null : value]).flatMap(
      wordsOf,
    ),
  ]);
}

const TWO = { country: 'RU', period: 30, count: 2 };

describe('POST /mcp', () => {
  const service = forAllTests(sharedTestService);
  const user = forAllTests(() => service.createUser());
  const agent = forAllTests(() => connectAgent(service.baseUrl, user.token));

  const tokenWith = async (scopes: readonly Scope[], allowedIps?: string[]): Promise<string> =>
    (await service.app.get(TokensService).issue({ userId: user.id, scopes, allowedIps })).text;
  const post = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${service.baseUrl}/mcp`, {
      method: 'POST',
      body,
      headers: {
        Authorization: `Bearer ${user.token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
  const PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}';

  it.each(REVISIONS)('serves the tools to %s clients (%s)', async (revision, version) => {
    const one = await connectAgent(service.baseUrl, user.token, revision);
    expect(one.client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await one.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOLS);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      expect([name, title, description]).not.toContain(undefined);
      expect(annotations).toMatchObject({
        readOnlyHint: !FINAL.includes(name),
        destructiveHint: FINAL.includes(name),
        idempotentHint: true,
      });
      const example = JSON.parse(/ E\.g\. (\{.+\})$/.exec(description ?? '')?.[1] ?? '{}') as object;
      expect([name, ajv.validate(inputSchema, example)]).toEqual([name, true]);
      const { properties = {}, required = [] } = inputSchema;
      for (const [field, schema] of Object.entries(properties)) {
        expect([name, field, required.includes(field) || ajv.validate(schema as object, null)]).toEqual([
          name,
          field,
          true,
        ]);
      }
      expect([name, wordsOf(inputSchema).filter((word) => !GEMINI_WORDS.has(word))]).toEqual([name, []]);
      expect([name, ajv.validate(outputSchema as object, {})]).toEqual([name, false]);
      // The user does not own proxy 17 and order 42 of the examples.
      const { result, error } = await one.call(name, { ...example });
      const expected = {
        check_proxy: 'proxy-not-found',
        get_refund: 'proxy-not-found',
        request_refund: 'proxy-not-found',
        get_order: 'order-not-found',
        place_order: 'preparation-unknown',
      };
      expect([name, error?.code]).toEqual([name, Reflect.get(expected, name)]);
      expect([name, result === null]).toEqual([name, name in expected]);
    }
    await one.close();
  });

  it('shows a token only the tools of its scopes, and needs no other scope', async () => {
    const reader = await connectAgent(service.baseUrl, await tokenWith(['profile:read']));
    const { tools } = await reader.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_ledger', 'get_balance', 'forecast_renewals']);
    expect((await reader.call('get_balance')).result).toMatchObject({ username: 'test' });
    for (const name of ['list_proxies', 'constructor']) {
      await expect(reader.call(name)).rejects.toMatchObject({
        code: -32602,
        message: `Unknown tool: ${name}`,
      });
    }
    await reader.close();
    const staff = await connectAgent(service.baseUrl, await tokenWith(['staff:balance', 'staff:users']));
    expect((await staff.client.listTools()).tools).toEqual([]);
    await staff.close();
  });

  it('prepares, places once for at most the prepared price, and replays', async () => {
    const buyer = await service.createUser({ balance: '120.00' });
    const one = await connectAgent(service.baseUrl, buyer.token);
    const prepared = await one.call('prepare_purchase', TWO);
    expect(prepared.result).toMatchObject({
      price_final: '50.16',
      balance_available: '120.00',
      balance_after: '69.84',
      refusals: [],
      equal_orders: [],
    });
    const order_ref = prepared.result?.['order_ref'];
    expect(await service.balanceOf(buyer)).toEqual({ available: '120.00', held: '0.00' });
    const placed = await one.call('place_order', { order_ref });
    expect(placed.result).toMatchObject({ kind: 'purchase', price_charged: '50.16', replayed: false });
    expect(placed.result?.['proxies']).toEqual([
      expect.objectContaining({ login: null, password: null }),
      expect.objectContaining({ login: null, password: null }),
    ]);
    const { order_id: id } = placed.result ?? {};
    const shown = await one.call('place_order', { order_ref, reveal: true });
    expect(shown.result).toMatchObject({ order_id: id, replayed: true });
    expect(JSON.stringify(shown.result)).toMatch(/"password":"\w+"/);
    expect((await one.call('get_order', { order_id: id, wait: 30 })).result).toMatchObject({
      state: 'completed',
      max_price: '50.16',
    });
    const again = await one.call('prepare_purchase', { ...TWO, country: 'ru' });
    expect(again.result).toMatchObject({ refusals: [], equal_orders: [{ id, state: 'completed' }] });
    const other = await one.call('place_order', { order_ref: again.result?.['order_ref'] });
    expect(other.result?.['order_id']).not.toBe(id);
    expect((await one.call('prepare_purchase', TWO)).result).toMatchObject({
      order_ref: null,
      refusals: [{ status: 400, detail: 'Insufficient balance' }],
    });
    await one.close();
  });

  it('prepares prolongations together, and places each once', async () => {
    const owner = await service.createUser({ balance: '150.00' });
    const bought = (await owner.buy({ count: 3 })).data;
    const ids = bought && 'proxies' in bought ? bought.proxies.map(({ id }) => id) : [];
    const one = await connectAgent(service.baseUrl, owner.token);
    const refund = await one.call('get_refund', { proxy_id: ids[0] });
    expect(refund.result).toMatchObject({ state: 'none', requested_at: null });
    const bad = await one.call('prepare_prolongation', { proxy_ids: ['999999999'], period: 1 });
    expect(bad.result).toMatchObject({
      order_ref: null,
      price_final: null,
      refusals: [{ status: 404, detail: 'Proxy 999999999: Proxy not found' }],
    });
    expect((await one.call('prepare_prolongation', { proxy_ids: ids, period: 30 })).result).toMatchObject({
      order_ref: null,
      price_final: '75.24',
      balance_after: '74.76',
      refusals: [{ status: 400, detail: 'Insufficient balance' }],
    });
    const two = { proxy_ids: ids.slice(1), period: 30 };
    const prepared = await one.call('prepare_prolongation', two);
    expect(prepared.result).toMatchObject({ price_final: '50.16', balance_after: '24.60', refusals: [] });
    const { order_ref } = prepared.result ?? {};
    const placed = await one.call('place_order', { order_ref });
    const prolonged = ids
      .slice(1)
      .map((proxy_id) => ({ proxy_id, status: 'prolonged', price_charged: '25.08' }));
    const outcome = { kind: 'prolongation', price_charged: '50.16', prolongations: prolonged };
    expect(placed.result).toMatchObject({ ...outcome, replayed: false });
    expect((await one.call('place_order', { order_ref })).result).toMatchObject({
      ...outcome,
      replayed: true,
    });
    expect((await one.call('prepare_prolongation', two)).result?.['equal_orders']).toHaveLength(2);
    expect(await service.balanceOf(owner)).toEqual({ available: '24.60', held: '0.00' });
    await one.close();
  });

  it('reveals passwords only with proxies:export and reveal: true', async () => {
    const password = await user
      .buy()
      .then(({ data }) => data && 'proxies' in data && data.proxies[0]?.password);
    const listed = await agent.call('list_proxies', { country: 'ru', limit: 200 });
    expect(JSON.stringify(listed.result)).not.toMatch(new RegExp(`"login"|"password"|${String(password)}`));
    expect(await agent.call('export_proxies', { format: 'txt' })).toMatchObject({
      error: { code: 'passwords-not-revealed' },
    });
    const exported = await agent.call('export_proxies', { format: 'txt', reveal: true });
    expect(exported.result?.['text']).toContain(`:${String(password)}\n`);
    const scopes = ALL_SCOPES.filter((scope) => scope !== 'proxies:export');
    const other = await connectAgent(service.baseUrl, await tokenWith(scopes));
    const { order_ref } = (await other.call('prepare_purchase', TWO)).result ?? {};
    const before = await service.balanceOf(user);
    expect(await other.call('place_order', { order_ref, reveal: true })).toMatchObject({
      error: { code: 'not-enough-permissions', next: expect.stringContaining('Do not call again') },
    });
    expect(await service.balanceOf(user)).toEqual(before);
    await other.close();
  });

  it('returns an order to each token of the user, and places it for the one that prepared it', async () => {
    const { order_ref } = (await agent.call('prepare_purchase', TWO)).result ?? {};
    const stranger = await connectAgent(service.baseUrl, (await service.createUser()).token);
    const sibling = await connectAgent(service.baseUrl, await tokenWith(ALL_SCOPES));
    const invalid = { error: { code: 'preparation-unknown' } };
    const forged = String(order_ref).replace(/^.{30}/, (text) => text.toLowerCase());
    for (const ref of [forged, `${String(order_ref)}A`, 'nothing', '', '.']) {
      expect(await agent.call('place_order', { order_ref: ref })).toMatchObject(invalid);
    }
    expect(await sibling.call('place_order', { order_ref })).toMatchObject(invalid);
    const { order_id } = (await agent.call('place_order', { order_ref })).result ?? {};
    expect(await stranger.call('place_order', { order_ref })).toMatchObject(invalid);
    expect((await sibling.call('place_order', { order_ref })).result).toMatchObject({
      order_id,
      replayed: true,
    });
    await sibling.close();
    await stranger.close();
  });

  it('reads arguments of another type that can mean only one thing', async () => {
    const prepared = async (name: string, given: object) => {
      const { result, error } = await agent.call(name, { ...given });
      return error?.detail ?? result?.['price_final'];
    };
    const given = { country: 'ru', period: '30', count: '2', version: 6, allow_partial: 'true' };
    expect(await prepared('prepare_purchase', { ...given, proxy_type: null })).toBe('50.16');
    const bought = await user.buy();
    const id = bought.data && 'proxies' in bought.data ? Number(bought.data.proxies[0]?.id) : 0;
    for (const proxy_ids of [[id], `[${id}]`, `["${id}"]`]) {
      expect(await prepared('prepare_prolongation', { proxy_ids, period: 30 })).toBe('25.08');
    }
    expect((await agent.call('get_refund', { proxy_id: id, wait: '0' })).result).toMatchObject({
      state: 'none',
    });
    const mistakes = { period: '1_000', count: true, allow_partial: 'yes', version: 6.5 };
    expect(await prepared('prepare_purchase', { country: null, ...mistakes })).toBe(
      'country: Field required; period: Input should be a JSON integer; ' +
        'count: Input should be a JSON integer; ' +
        'version: Input should be a JSON string; allow_partial: Input should be a JSON boolean',
    );
    expect(await prepared('prepare_prolongation', { proxy_ids: '17', period: '2 days' })).toBe(
      'proxy_ids: Input should be a JSON array; period: Input should be a JSON integer',
    );
    expect(await prepared('place_order', { order_ref: 17 })).toBe('order_ref: Input should be a JSON string');
  });

  it('shows a long list once, and of a too long one the number', async () => {
    const buyer = await service.createUser({ balance: '20000.00' });
    const one = await connectAgent(service.baseUrl, buyer.token);
    const place = async (count: number) => {
      const { order_ref } = (await one.call('prepare_purchase', { ...TWO, count })).result ?? {};
      const { content, structuredContent } = await one.client.callTool({
        name: 'place_order',
        arguments: { order_ref, reveal: true },
      });
      const text = content[0]?.type === 'text' ? content[0].text : '';
      const { proxies, ...more } = structuredContent as { proxies: unknown[]; order_id: number };
      expect(more).toMatchObject({
        delivered: count,
        next: expect.stringMatching(/^The order has been executed/),
      });
      expect(more).toMatchObject({ next: expect.stringContaining(`order_id ${more.order_id}`) });
      return { text: JSON.parse(text) as object, proxies, more };
    };
    const long = await place(100);
    expect(long.proxies).toHaveLength(100);
    const said = '100 in structuredContent. If you do not see them, list fewer.';
    expect(long.text).toEqual({ ...long.more, proxies: said });
    const tooLong = await place(400);
    expect([tooLong.proxies, tooLong.text]).toEqual([[], { ...tooLong.more, proxies: [] }]);
    const { order_id } = tooLong.more;
    const listed = await one.client.callTool({ name: 'list_proxies', arguments: { order_id, limit: 200 } });
    expect(listed.structuredContent).toMatchObject({ items: { length: 200 } });
    await one.close();
  });

  it('shows clients that look for OAuth that it wants a token', async () => {
    const description = 'Send a token issued by this shop in the header Authorization: Bearer prx_...';
    for (const authorization of ['Bearer prx_wrong', '']) {
      const { status, headers } = await post(PING, { Authorization: authorization });
      expect([status, headers.get('WWW-Authenticate')]).toEqual([
        401,
        `Bearer error="invalid_token", error_description="${description}"`,
      ]);
    }
    for (const [method, path] of [
      ['POST', 'register'],
      ['GET', 'authorize?client_id=1'],
      ['POST', 'token'],
      ['GET', '.well-known/oauth-authorization-server'],
      ['GET', '.well-known/oauth-protected-resource/mcp'],
    ] as const) {
      const response = await fetch(`${service.baseUrl}/${path}`, { method });
      expect([path, response.status, await response.json()]).toEqual([
        path,
        404,
        {
          error: 'invalid_request',
          error_description: `This service does not support OAuth. ${description}`,
        },
      ]);
    }
  });

  it('says what is wrong and what to do next', async () => {
    expect(await agent.call('get_price', { count: 0, period: 'x', colour: 'red' })).toEqual({
      result: null,
      error: {
        code: 'invalid-arguments',
        detail:
          'count: Input should be greater than 0; period: Input should be a JSON integer; ' +
          'colour: Extra inputs are not permitted',
        next: 'Correct the arguments and call again.',
      },
    });
    expect(await agent.call('get_price', { count: 1, period: 1 })).toMatchObject({
      error: { code: 'period-too-short', detail: 'Minimum rental period for IPv6 is 3 days' },
    });
    const { order_ref } = (await agent.call('prepare_purchase', TWO)).result ?? {};
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    const lost = await agent.call('place_order', { order_ref });
    // The first search may already have found the purchase.
    if (lost.error) expect(lost.error.next).toContain('again with the same order_ref');
    await service.untilSettled();
    expect((await agent.call('place_order', { order_ref })).result).toMatchObject({ replayed: true });
    await service.control.resetFaults();
  });

  it.each([
    ['application/json', 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
    ['text/event-stream, application/json;q=0.1', 'application/json; charset=utf-8'],
    ['text/event-stream', 'text/event-stream; charset=utf-8'],
  ])('responds to Accept: %s with %s', async (accept, type) => {
    const response = await post(PING, { Accept: accept });
    expect([response.status, response.headers.get('Content-Type')]).toEqual([200, type]);
    const text = await response.text();
    const json = type.startsWith('text') ? /^event: message\ndata: (.+)\n\n$/.exec(text)?.[1] : text;
    expect(JSON.parse(json ?? '')).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
    const refused = await post('{', { Accept: accept });
    expect([refused.status, refused.headers.get('Content-Type')]).toEqual([
      400,
      'application/json; charset=utf-8',
    ]);
  });

  it('is not bothered by what it does not know', async () => {
    const rpc = async (method: string, params: string, headers: Record<string, string> = {}) => {
      const message = `\uFEFF{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
      const response = await post(message, headers);
      const read = (await response.json()) as Record<string, unknown>;
      return { status: response.status, ...read };
    };
    const icons = `"icons":[${'1,'.repeat(40_000)}1]`;
    const info = `"clientInfo":{"name":"a","version":"1",${icons}}`;
    const hello = `{"protocolVersion":"2027-01-01","capabilities":{},${info}}`;
    expect(await rpc('initialize', hello, { 'MCP-Protocol-Version': '2027-01-01' })).toMatchObject({
      status: 200,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
    });
    for (const [method, result] of [
      ['resources/list', { resources: [] }],
      ['resources/templates/list', { resourceTemplates: [] }],
      ['prompts/list', { prompts: [] }],
    ] as const) {
      expect(await rpc(method, '{}')).toEqual({ status: 200, jsonrpc: '2.0', id: 7, result });
    }
    expect(await rpc('resources/read', '{}')).toMatchObject({ error: { code: -32601 } });
    expect(await rpc('tools/call', '{"name":"get_balance","arguments":null,"task":{"ttl":1}}')).toMatchObject(
      { result: { structuredContent: { username: 'test' } } },
    );
    const given = `{"${'x'.repeat(50_000)}":1}`;
    for (const called of [
      await rpc('tools/call', `{"name":"get_balance","arguments":${given}}`),
      await rpc('tools/call', '{"name":"get_balance","arguments":[1]}'),
    ]) {
      expect(called).toMatchObject({ result: { isError: true } });
      expect(JSON.stringify(called)).toMatch(/^.{100,400}$/);
    }
    expect(JSON.stringify(await rpc('tools/call', `{"name":"${'x'.repeat(50_000)}"}`))).toMatch(
      /"code":-32602,"message":"Unknown tool: x{900,1000}"/,
    );
  });

  it('refuses what is not JSON, batches, foreign origins, and callers as every route does', async () => {
    const malformed = await post('{');
    expect(malformed.status).toBe(400);
    expect(await malformed.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32700 } });
    expect(await (await post(' '.repeat(200_000))).json()).toMatchObject({ error: { code: -32700 } });
    const batch = await post(`[${PING},${PING}]`);
    expect(batch.status).toBe(400);
    expect(await batch.json()).toMatchObject({ error: { code: -32600 } });
    expect((await post(PING, { 'Content-Type': 'text/plain' })).status).toBe(415);
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":`;
    expect((await post(`${deep}{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}`)).status).toBeLessThan(
      500,
    );
    for (const [origin, status] of [
      ['http://localhost:5173', 200],
      ['http://127.0.0.1', 200],
      ['https://evil.example', 403],
      ['null', 403],
    ] as const) {
      const response = await post(PING, { Origin: origin });
      expect([origin, response.status]).toEqual([origin, status]);
      if (status === 200) expect(response.headers.get('Cache-Control')).toBe('no-store');
      else expect(await response.json()).toMatchObject({ code: 'origin-not-allowed' });
    }
    const refused = async (token: string) => {
      const response = await post(PING, { Authorization: `Bearer ${token}` });
      return [response.status, ((await response.json()) as { detail: string }).detail];
    };
    expect(await refused('prx_wrong')).toEqual([401, 'Invalid or expired token']);
    expect(await refused(await tokenWith(ALL_SCOPES, ['10.0.0.0/8']))).toEqual([403, 'Address not allowed']);
    const blocked = await service.createUser();
    await service.dataSource.query(
      `UPDATE users SET blocked_at = now(), blocked_reason = 'test' WHERE id = $1`,
      [blocked.id],
    );
    expect(await refused(blocked.token)).toEqual([403, 'User is blocked']);
    const { status } = await fetch(`${service.baseUrl}/mcp`, {
      headers: { Authorization: `Bearer ${user.token}` },
    });
    expect(status).toBe(405);
  });
});
