import { DocsBrowser } from './support/browser';
import { findChromium } from './support/programs';
import { createStaff } from './support/staff';
import { sharedTestService, type TestService } from './support/test-service';

const chromium = findChromium();

if (chromium === undefined) {
  it.skip('Swagger UI in a browser: there is no Chromium on the PATH (apt-get install chromium)', () =>
    undefined);
} else {
  // The journeys of staff from page to page are in test/faults/staff-pages.
  describe('Swagger UI in a browser', () => {
    jest.setTimeout(60_000);
    let service: TestService;
    let docs: DocsBrowser;

    beforeAll(async () => {
      service = await sharedTestService();
      docs = await DocsBrowser.open(chromium, service.baseUrl);
    });
    afterEach(() => {
      expect(docs.complaints).toEqual([]);
    });
    afterAll(() => docs.close());

    it('lets staff create a user with their token', async () => {
      await docs.visit('/staff/docs');
      await docs.authorize((await createStaff(service)).token);
      const { status, body } = await docs.execute('POST', '/staff/users', { body: { username: 'boris' } });
      expect([status, body]).toEqual(['201', expect.objectContaining({ username: 'boris' })]);
    });

    it('lets a customer buy with their token', async () => {
      await docs.visit('/docs');
      expect(await docs.isAuthorized()).toBe(false);
      const user = await service.createUser();
      await docs.authorize(user.token);
      const { status, body } = await docs.execute('POST', '/proxies/buy', {
        body: { country: 'ru', period: 30 },
      });
      expect([status, body]).toEqual(['200', expect.objectContaining({ proxies: [expect.any(Object)] })]);
      // As it is filled in: a fresh key each time.
      expect((await docs.execute('POST', '/proxies/buy')).status).toBe('200');
      const { data } = await user.api.GET('/orders');
      const keys = data?.items.map(({ idempotency_key: key }) => key) ?? [];
      expect(keys).toEqual([expect.stringMatching(/^docs-/), expect.stringMatching(/^docs-/)]);
      expect(new Set(keys).size).toBe(2);
    });
  });
}
