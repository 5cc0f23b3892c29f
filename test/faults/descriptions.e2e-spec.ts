import { expectRedoclyContent, runTool } from '../support/description';
import { startTestService, type TestService } from '../support/test-service';

/** The linter and the generator are programs of their own. */
jest.setTimeout(60_000);

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

describe.each([
  ['/openapi.json', '"/proxies/{proxy_id}"'],
  ['/staff/openapi.json', '"/staff/users/{user_id}"'],
])('The description at %s', (path, route) => {
  it('passes the linter Redocly without a word', () => expectRedoclyContent(service.baseUrl + path));

  it('can be turned into the types of a client without a warning', async () => {
    const types = await runTool('openapi-typescript', [service.baseUrl + path]);
    expect(types.stderr).toBe('');
    expect(types.stdout).toContain(route);
  });
});
