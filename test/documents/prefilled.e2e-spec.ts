import { ALL_PAYMENT_SCOPES, ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { prefilledRequests } from '../support/docs-page';
import { forAllTests } from '../support/fixtures';
import { executeAll, type Executed, startDemoService } from '../support/prefilled';
import { createStaff } from '../support/staff';

describe('The prefilled fields of the page of customers', () => {
  // A service of its own: the examples name the first proxy, order, token and link, as after `npm start`.
  const demo = forAllTests(startDemoService);

  it('gives what a person expects when nothing but Execute is pressed', async () => {
    const { token } = await demo.service.createUser({ balance: '10000.00', scopes: ALL_SCOPES });
    const { executed, notSent } = await executeAll(demo, '/docs', token);
    expect(notSent).toEqual([]);
    const failed = executed.filter(({ status }) => status >= 300);
    expect(failed.map(({ name, status, text }) => [name, status, text])).toEqual([
      // `npm start` has no bot, and the secret of a link is shown once.
      [
        'POST /auth/telegram',
        404,
        '{"detail":"Signing in with Telegram is disabled","code":"sign-in-disabled"}',
      ],
      ['GET /l/{secret}', 404, '{"detail":"Link not found","code":"secret-link-not-found"}'],
    ]);

    const responses = new Map(executed.map((each): [string, Executed] => [each.name, each]));
    const responseOf = (name: string): unknown => JSON.parse(responses.get(name)?.text ?? '');
    const first = expect.objectContaining({ id: '1' });
    expect(responseOf('GET /proxies')).toEqual([first]);
    expect(responseOf('GET /proxies/export')).toEqual([first]);
    for (const list of ['orders', 'ledger', 'events', 'links', 'webhooks', 'tokens', 'renewals/rules']) {
      expect([list, responseOf(`GET /${list}`)]).toEqual([list, expect.not.objectContaining({ items: [] })]);
    }
    expect(responseOf('POST /proxies/ping')).toMatchObject({ proxies: [{ proxy_id: '1', detail: null }] });
    expect(responseOf('POST /proxies/prolong')).toMatchObject({ proxies: [{ status: 'prolonged' }] });
    expect(responseOf('PATCH /proxies')).toMatchObject({ not_found: [] });
    expect(responseOf('GET /proxies/{proxy_id}/check')).toMatchObject({ works: true });
    await demo.service.audit({ withProvider: true });
  });

  it('has fresh keys for what spends money, each time the page is loaded', async () => {
    const loads = [1, 2].map(() => prefilledRequests(`${demo.service.baseUrl}/docs`));
    const keys = (await Promise.all(loads)).flat().flatMap(({ headers }) => headers['Idempotency-Key'] ?? []);
    expect(keys).toHaveLength(6);
    expect(new Set(keys).size).toBe(6);
  });
});

describe('The prefilled fields of the page of staff', () => {
  const demo = forAllTests(startDemoService);

  it('reads, and changes nothing: no id is filled in, and an empty form is refused', async () => {
    const staff = await createStaff(demo.service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
    // The preview of a rule compares known prices.
    await staff.get('/price?count=1&period=30&version=6');
    const { executed, notSent } = await executeAll(demo, '/staff/docs', staff.token);
    expect(notSent.filter(({ path }) => !path.includes('{'))).toEqual([]);
    for (const { name, method, status, text } of executed) {
      const isRead = method === 'GET' || name === 'POST /staff/price-rules/preview';
      expect([name, status, text]).toEqual([name, isRead ? 200 : 422, text]);
    }
    expect(executed.length).toBeGreaterThan(15);
  });

  it('shows the choices of a field that has some', async () => {
    const requests = await prefilledRequests(`${demo.service.baseUrl}/staff/docs`);
    const bodyOf = (wanted: string): unknown =>
      JSON.parse(requests.find(({ name }) => name === wanted)?.body ?? '');
    expect(bodyOf('POST /staff/users/{user_id}/tokens')).toEqual({
      scopes: [['read', ...ALL_SCOPES, ...ALL_PAYMENT_SCOPES, ...ALL_STAFF_SCOPES].join(' | ')],
    });
    expect(bodyOf('POST /staff/orders/{order_id}/decide')).toMatchObject({ decision: 'deliver | cancel' });
    expect(bodyOf('POST /staff/price-rules')).toMatchObject({ country: null, version: null });
  });
});
