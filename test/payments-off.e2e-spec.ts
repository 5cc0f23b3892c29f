import { ALL_SCOPES } from '../src/auth';
import { fetchAs } from './support/api-client';
import { runCliHere } from './support/cli';
import { forAllTests } from './support/fixtures';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';

// Without PAYMENTS nothing of deposits exists, as if they had never been made.

const service = forAllTests(sharedTestService);
const staff = forAllTests(() => createStaff(service));
const user = forAllTests(() => service.createUser());

const call = async (method: string, path: string, body?: object) => {
  const response = await fetchAs(user, method, service.baseUrl + path, body);
  return { status: response.status, text: await response.text() };
};

describe('Where no payments are taken', () => {
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

  it.each(['/openapi.json', '/staff/openapi.json'])('%s does not mention deposits', async (path) => {
    const { text } = await call('GET', path);
    expect(text).not.toMatch(/deposit/i);
  });

  it('their scopes are unknown, and listed nowhere', async () => {
    const scopes = await staff.get<{ scope: string }[]>('/staff/scopes');
    expect(JSON.stringify(scopes.body)).not.toMatch(/deposit/);
    const path = `/staff/users/${user.id}/tokens`;
    const withScope = (scope: string) => staff.post<object>(path, { scopes: [scope] });
    const [unknown, ofDeposits] = await Promise.all([withScope('nonsense:read'), withScope('deposits:read')]);
    expect(ofDeposits.status).toBe(422);
    const swapped = JSON.stringify(ofDeposits.body).replaceAll('deposits:read', 'nonsense:read');
    expect(JSON.parse(swapped)).toEqual(unknown.body);
    const own = await call('POST', '/tokens', { scopes: ['deposits:read'] });
    expect(own).toEqual({ status: 422, text: expect.not.stringContaining("'deposits") });
  });

  it('their commands are refused, and no command mentions them in what it prints', async () => {
    const environment = { DATABASE_URL: service.databaseUrl, MIGRATE_ON_START: 'false' };
    expect(await runCliHere(['deposits', 'list'], environment)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The service accepts no payments: PAYMENTS is off\n',
    });
    const { stdout } = await runCliHere(['users', 'show', '--id', String(user.id)], environment);
    expect(stdout).toContain('"tokens"');
    expect(stdout).not.toContain('deposits');
  });

  it('their events are unknown to filters and webhooks', async () => {
    expect((await call('GET', '/events?type=deposit.succeeded')).status).toBe(422);
    const webhook = { url: 'https://example.com/hook', types: ['deposit.succeeded'] };
    expect((await call('POST', '/webhooks', webhook)).status).toBe(422);
  });

  it('the ledger is what it was', async () => {
    const { text } = await call('GET', '/ledger');
    expect(text).toContain('"order_id"');
    expect(text).not.toContain('deposit');
    expect((await call('GET', '/ledger/csv')).text).not.toContain('deposit');
  });

  it('`all` has the scopes that it had', () => {
    expect(ALL_SCOPES.filter((scope) => scope.startsWith('deposit'))).toEqual([]);
  });
});
