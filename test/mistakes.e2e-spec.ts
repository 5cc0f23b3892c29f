import { forAllTests } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';

describe('A 422 response', () => {
  const service = forAllTests(sharedTestService);
  const user = forAllTests(() => service.createUser({ balance: '0.00' }));
  const staff = forAllTests(() => createStaff(service));

  async function send(request: string, body?: object | string, headers: Record<string, string> = {}) {
    const [method = '', path = ''] = request.split(' ');
    const response = await sendRaw(service.baseUrl, {
      method,
      path,
      token: path.startsWith('/staff') ? staff.token : user.token,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const { detail } = response.json() as {
      detail: { type: string; loc: (string | number)[]; ctx?: object }[];
    };
    return { status: response.status, detail };
  }

  const placesOf = ({ status, detail }: Awaited<ReturnType<typeof send>>) => [
    status,
    ...detail.map(({ type, loc }) => `${loc.join('.')}: ${type}`),
  ];

  it.each<[string, object | undefined, Record<string, string>, readonly string[]]>([
    ['POST /proxies/prolong', {}, {}, ['header.Idempotency-Key: missing', 'body.period: missing']],
    [
      'POST /proxies/buy',
      { country: 'ru', period: 0 },
      { 'idempotency-key': 'two words' },
      ['header.Idempotency-Key: idempotency_key_invalid', 'body.period: greater_than'],
    ],
    [
      'POST /proxies/17/prolong',
      undefined,
      { 'idempotency-key': '' },
      ['header.Idempotency-Key: idempotency_key_invalid', 'body: missing'],
    ],
    [
      'GET /webhooks/0/attempts?limit=0&colour=red',
      undefined,
      {},
      ['path.webhook_id: greater_than', 'query.limit: greater_than', 'query.colour: extra_forbidden'],
    ],
    ['PATCH /webhooks/x', { enabled: 1 }, {}, ['path.webhook_id: int_parsing', 'body.enabled: bool_type']],
    [
      'GET /events?limit=0',
      undefined,
      { 'last-event-id': 'x' },
      ['query.limit: greater_than', 'header.Last-Event-ID: string_pattern_mismatch'],
    ],
    [
      'POST /staff/orders/0/refund?preview=true',
      { amount: true },
      {},
      [
        'path.order_id: greater_than',
        'query.preview: extra_forbidden',
        'header.Idempotency-Key: missing',
        'body.amount: decimal_type',
        'body.reason: missing',
      ],
    ],
  ])('names the mistakes of all places in the order of FastAPI: %s %j', async (...row) => {
    const [request, body, headers, expected] = row;
    expect(placesOf(await send(request, body, headers))).toEqual([422, ...expected]);
  });

  it('names nothing else when the body is no JSON', async () => {
    const refused = await send('POST /staff/orders/0/refund?preview=true', '{"reason":', {});
    expect(placesOf(refused)).toEqual([422, 'body.10: json_invalid']);
  });

  it('has 20 mistakes of all places together, and says where the first of the others is', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`n${n}`, '1']));
    const query = String(new URLSearchParams(unknown));
    const { detail } = await send(`POST /staff/users/0/credit?${query}`, unknown);
    expect(detail).toHaveLength(21);
    // 1 mistake in the path, 15 in the query, 1 in the headers and 17 in the body.
    expect(detail[20]).toMatchObject({ type: 'too_many_errors', loc: ['body'], ctx: { more: 14 } });
  });

  it('comes after 401, 404, 405 and 403', async () => {
    const limited = await service.createUser({ scopes: ['profile:read'] });
    const statusOf = async (method: string, path: string, token = '') =>
      (await sendRaw(service.baseUrl, { method, path, body: '{}', ...(token && { token }) })).status;
    expect([
      await statusOf('POST', '/proxies/prolong'),
      await statusOf('POST', '/nothing?limit=0', user.token),
      await statusOf('PUT', '/webhooks/0', user.token),
      await statusOf('PATCH', '/webhooks/0', limited.token),
    ]).toEqual([401, 404, 405, 403]);
  });
});
