import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { DocsBrowser } from '../support/browser';
import { findChromium } from '../support/programs';
import { createStaff } from '../support/staff';
import { startTestService, type TestService } from '../support/test-service';

const chromium = findChromium();

/** Level AA of WCAG 2.2, and of the versions before it, which it contains. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

if (chromium === undefined) {
  it.skip('Pages under axe: there is no Chromium on the PATH (apt-get install chromium)', () => undefined);
} else {
  describe('A page of Swagger UI', () => {
    // Swagger UI draws forms slowly, and axe reads each element of them.
    jest.setTimeout(180_000);
    let service: TestService;
    let docs: DocsBrowser;
    let token: string;

    beforeAll(async () => {
      service = await startTestService();
      docs = await DocsBrowser.open(chromium, service.baseUrl);
      ({ token } = await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]));
    });
    afterAll(async () => {
      await docs.close();
      await service.close();
    });

    it.each<[page: string, executed: string, opened: [method: string, path: string][]]>([
      [
        '/docs',
        '/me',
        [
          ['POST', '/proxies/buy'],
          ['PUT', '/proxies/{proxy_id}/type'],
          ['PATCH', '/proxies'],
          ['DELETE', '/links/{link_id}'],
        ],
      ],
      ['/staff/docs', '/staff/users', [['POST', '/staff/users/{user_id}/credit']]],
    ])('%s has no barrier that axe-core finds', async (page, executed, opened) => {
      await docs.visit(page);
      await docs.authorize(token);
      expect((await docs.execute('GET', executed)).status).toBe('200');
      expect(await docs.findBarriers(opened, TAGS)).toEqual([]);
      expect(docs.complaints).toEqual([]);
    });
  });
}
