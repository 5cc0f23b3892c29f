import { fetchAs } from './support/api-client';
import { runCliHere } from './support/cli';
import { forAllTests } from './support/fixtures';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';

const service = forAllTests(sharedTestService);
const staff = forAllTests(() => createStaff(service));
const user = forAllTests(() => service.createUser());

const call = async (method: string, path: string, body?: object) => {
  const response = await fetchAs(user, method, service.baseUrl + path, body);
  return { status: response.status, text: await response.text() };
};

describe('Where no payments are accepted', () => {
  it.each([
    ['POST', '/deposits'],
    ['GET', '/deposits'],
    ['GET', '/deposits/1'],
    ['POST', '/payments/yookassa/notifications'],
    ['POST', '/payments/sandbox/notifications'],
    ['POST', '/payments/intake/bot'],
    ['GET', '/staff/deposits'],
    ['GET', '/staff/unmatched-payments'],
  ])('%s %s is an unknown path', async (method, path) => {
    expect(await call(method, path, method === 'POST' ? {} : undefined)).toEqual(
      await call(method, '/no/such/path', method === 'POST' ? {} : undefined),
    );
  });

  it('a token with their scopes, which would gain a right when they are accepted, is refused', async () => {
    const refusal = {
      detail: [
        {
          type: 'enum',
          loc: ['body', 'scopes'],
          msg: 'The service does not accept payments',
          input: 'deposits:read',
        },
      ],
    };
    const scopes = ['profile:read', 'deposits:read'];
    const issued = await staff.post<object>(`/staff/users/${user.id}/tokens`, { scopes });
    expect(issued).toMatchObject({ status: 422, body: refusal });
    const own = await call('POST', '/tokens', { scopes });
    expect([own.status, JSON.parse(own.text)]).toEqual([422, refusal]);
    const environment = { DATABASE_URL: service.databaseUrl, MIGRATE_ON_START: 'false' };
    const create = ['tokens', 'create', '--user', String(user.id), '--scopes', 'all,deposits:read'];
    expect(await runCliHere(create, environment)).toMatchObject({
      code: 1,
      stderr: 'The service does not accept payments\n',
    });
  });

  it('their commands are refused', async () => {
    const environment = { DATABASE_URL: service.databaseUrl, MIGRATE_ON_START: 'false' };
    expect(await runCliHere(['deposits', 'list'], environment)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The service does not accept payments: PAYMENTS is off\n',
    });
  });
});
