import { ALL_SCOPES, ALL_STAFF_SCOPES, TokensService } from '../../src/auth';
import { DocsBrowser } from '../support/browser';
import { forAllTests } from '../support/fixtures';
import { describeWith, findChromium } from '../support/programs';
import { createStaff } from '../support/staff';
import { sharedTestService } from '../support/test-service';

const chromium = findChromium() ?? '';

describeWith(chromium === '' ? ['chromium'] : [], 'Swagger UI in a browser', () => {
  jest.setTimeout(60_000);
  let userId: unknown;
  let orderId: number;
  const service = forAllTests(sharedTestService);
  const docs = forAllTests(() => DocsBrowser.open(chromium, service.baseUrl));
  afterEach(() => {
    expect(docs.complaints).toEqual([]);
  });

  const ofUser = () => ({ user_id: Number(userId) });

  it('takes the token of a member of staff', async () => {
    await docs.visit('/staff/docs');
    const staff = await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
    await docs.authorize(staff.token);
    expect(await docs.isAuthorized()).toBe(true);
  });

  const createUser = () =>
    docs.execute('POST', '/staff/users', { body: { username: 'boris', web_username: 'boris@example.org' } });

  it('creates a user', async () => {
    const { status, body } = await createUser();
    expect([status, body]).toEqual(['201', expect.objectContaining({ username: 'boris', has_app: false })]);
    userId = body['id'];
  });

  it('credits the user, whose row links to the form', async () => {
    const path = '/staff/users/{user_id}/credit';
    const form = await docs.followToForm(`/staff/users/${String(userId)}/credit?amount=`, path);
    expect(form.parameters).toEqual([String(userId), expect.stringMatching(/^docs-/)]);
    const { status, body } = await docs.execute('POST', path, {
      parameters: { ...ofUser(), 'Idempotency-Key': 'invoice-2026-1107' },
      body: { amount: '500.00', reason: 'Bank transfer', reference: 'invoice 2026-1107' },
    });
    expect([status, body]).toEqual(['200', expect.objectContaining({ user_id: userId, balance: '500.00' })]);
  });

  it('shows an error as the service returns it', async () => {
    expect(await createUser()).toEqual({
      status: '409',
      body: { detail: 'A user with this web_username already exists', code: 'user-exists' },
    });
    // Chromium reports a 409 response as an error.
    expect(docs.complaints.splice(0)).toEqual([expect.stringContaining('status of 409')]);
  });

  // axe-core reads each element of the forms, which takes a while.
  it('shows no text that is too pale', async () => {
    expect(await docs.findPaleTexts('POST', '/staff/users/{user_id}/credit')).toEqual([]);
  }, 180_000);

  it('lets a customer buy, on a page that does not know the token of staff', async () => {
    const { text } = await service.app
      .get(TokensService)
      .issue({ userId: Number(userId), scopes: ALL_SCOPES });
    await docs.visit('/docs');
    expect(await docs.isAuthorized()).toBe(false);
    await docs.authorize(text);
    const { status, body } = await docs.execute('POST', '/proxies/buy', {
      body: { country: 'ru', period: 30 },
    });
    expect([status, body]).toEqual(['200', expect.objectContaining({ proxies: [expect.any(Object)] })]);
  });

  it('is still authorized for staff, and explains the balance at a bookmarked address', async () => {
    await docs.visit('/staff/docs#/Money/ledger.read', '.is-open .execute');
    expect(await docs.isAuthorized()).toBe(true);
    const { status, body } = await docs.execute('GET', '/staff/users/{user_id}/ledger', {
      parameters: ofUser(),
    });
    const { available } = await service.balanceOf({ id: Number(userId) });
    expect([status, body]).toEqual([
      '200',
      {
        items: [
          expect.objectContaining({ kind: 'capture', available_after: available, held_after: '0.00' }),
          expect.objectContaining({ kind: 'hold', order: expect.objectContaining({ kind: 'purchase' }) }),
          expect.objectContaining({ kind: 'topup', reason: 'Bank transfer', available_after: '500.00' }),
        ],
        next_cursor: null,
      },
    ]);
    const [{ order }] = body['items'] as [{ order: { id: number } }];
    orderId = order.id;
  });

  it('offers the statement as a file', async () => {
    const parameters = { ...ofUser(), from: '2026-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
    const file = await docs.download('GET', '/staff/users/{user_id}/statement', { parameters });
    expect(file.name).toBe(`statement-${String(userId)}.csv`);
    expect(file.text.split('\r\n')).toHaveLength(5);
    expect(file.text).toContain('invoice 2026-1107');
  });

  it('opens the form of a refund from the order, filled with what can be refunded', async () => {
    const { status, body: order } = await docs.execute('GET', '/staff/orders/{order_id}', {
      parameters: { order_id: orderId },
    });
    expect([status, order]).toEqual(['200', expect.objectContaining({ id: orderId, state: 'completed' })]);
    const path = '/staff/orders/{order_id}/refund';
    const link = `/staff/orders/${orderId}/refund?amount=25.08`;
    const { parameters, body } = await docs.followToForm(link, path);
    expect(parameters).toHaveLength(2);
    expect(parameters).toEqual(expect.arrayContaining([String(orderId), expect.stringMatching(/^docs-/)]));
    expect(body).toEqual({ amount: '25.08', reason: '', reference: null });
  });

  it('filters the operations, shows what is read first, and keeps the schemas away', async () => {
    expect(await docs.filter('refund an')).toEqual(['POST /staff/orders/{order_id}/refund']);
    expect(await docs.filter('/staff/price-rules')).toEqual([
      'GET /staff/price-rules',
      'GET /staff/price-rules/which',
      'GET /staff/price-rules/{rule_id}',
      'POST /staff/price-rules/preview',
      'POST /staff/price-rules',
      'POST /staff/price-rules/{rule_id}/end',
    ]);
    expect(await docs.filter('stolen')).toEqual(['POST /staff/tokens/{token_id}/revoke']);
    expect(await docs.filter('staff:balance')).toContain('POST /staff/users/{user_id}/credit');
    expect((await docs.filter('')).length).toBeGreaterThan(20);
  });
});
