import { fetchAs } from './support/api-client';
import { operationsOf, readDescription } from './support/description';
import { forAllTests } from './support/fixtures';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';

const service = forAllTests(sharedTestService);
const staff = forAllTests(() => createStaff(service));
const user = forAllTests(() => service.createUser());
beforeAll(() => user.buy());

const extra = (loc: readonly string[], input: unknown) => ({
  type: 'extra_forbidden',
  loc,
  msg: 'Extra inputs are not permitted',
  input,
});

describe('What staff send', () => {
  it('is refused with every mistake at once, unknown fields last, and inside objects as well', async () => {
    const { status, body } = await staff.post('/staff/price-rules/preview', {
      add: { user: 7, markup_percent: 5 },
      ends: 5,
    });
    expect([status, body]).toEqual([
      422,
      {
        detail: [
          expect.objectContaining({ type: 'string_type', loc: ['body', 'add', 'markup_percent'] }),
          extra(['body', 'add', 'user'], 7),
          extra(['body', 'ends'], 5),
        ],
      },
    ]);
  });

  it('has no unknown parameter or field on any route, also where a route has none at all', async () => {
    const description = await readDescription(`${service.baseUrl}/staff/openapi.json`);
    for (const { name, method, path, operation } of operationsOf(description)) {
      const target = `${path.replaceAll(/\{\w+\}/g, '999999')}?preview_only=true`;
      const response = method === 'GET' ? await staff.get(target) : await staff.change(method, target, {});
      expect([name, response.status]).toEqual([name, 422]);
      if (!operation.requestBody) continue;
      const { body } = await staff.change(method, path.replaceAll(/\{\w+\}/g, '999999'), { colour: 'red' });
      expect([name, body]).toEqual([
        name,
        { detail: expect.arrayContaining([extra(['body', 'colour'], 'red')]) },
      ]);
    }
  });

  const SALES = '/staff/sales?from=2026-11-01&to=2026-12-01';
  it.each([
    ['/staff/unmatched-proxies?order_reference=%00', 422],
    ['/staff/unmatched-proxies?order_reference=%20', 422],
    [`${SALES}&cursor=%00`, 422],
    [`${SALES}&by=day,country&cursor=2026-11-02/%00`, 422],
    [`${SALES}&cursor=soon`, 400],
    ['/staff/actions?target=user:%00', 422],
    ['/staff/users?query=a%07', 422],
    ['/staff/price-rules/which?period=30&country=%00%00', 422],
  ])('may hold a NUL and other control characters without harm: %s', async (path, status) => {
    expect((await staff.get(path)).status).toBe(status);
  });

  const MOMENTS = ['2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'] as const;
  it.each([
    ['/staff/users/:user/statement', ...MOMENTS],
    ['/staff/orders', ...MOMENTS],
    ['/staff/actions', ...MOMENTS],
  ])('has periods that end after they begin: %s', async (route, early, late) => {
    const read = (from: string, to: string) =>
      staff.get(`${route.replace(':user', String(user.id))}?from=${from}&to=${to}`);
    const refusal = { detail: expect.stringContaining('The period must end after it begins') };
    expect(await read(late, early)).toMatchObject({ status: 400, body: refusal });
    expect(await read(early, early)).toMatchObject({ status: 400, body: refusal });
    expect(await read(early, late)).toMatchObject({ status: 200 });
  });

  it('names a user who exists, also where prices are previewed and explained', async () => {
    const rule = { user_id: 999_999, markup_percent: '5' };
    await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    for (const { status, body } of [
      await staff.post('/staff/price-rules/preview', { add: rule }),
      await staff.post('/staff/price-rules', { ...rule, reason: 'Contract 815' }),
      await staff.get('/staff/price-rules/which?period=30&user_id=999999'),
    ]) {
      expect([status, body]).toMatchObject([404, { detail: 'User not found' }]);
    }
    expect(
      (await staff.post('/staff/price-rules/preview', { add: { ...rule, user_id: user.id } })).status,
    ).toBe(200);
  });
});

describe('What customers send', () => {
  it('may have unknown fields and parameters, as the interface has always let them', async () => {
    const order = { country: 'ru', period: '30', colour: 'red' };
    const listed = await fetchAs(user, 'GET', `${service.baseUrl}/countries?colour=red`);
    const bought = await fetchAs(user, 'POST', `${service.baseUrl}/proxies/buy?colour=red`, order);
    expect([listed.status, bought.status]).toEqual([200, 200]);
  });
});
