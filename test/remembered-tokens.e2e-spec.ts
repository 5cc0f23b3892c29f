import { recordStatements } from '../bench/support/statement-plans';
import { TokensService } from '../src/auth';
import { eventually } from './support/built-service';
import { sendRaw } from './support/raw-http';
import { startTestService, type TestService, type TestUser } from './support/test-service';

const PATHS = ['/countries', '/countries/ru/count', '/price?count=1&period=30'];

describe('A token that the catalog was asked with before', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  const ask = async ({ token }: TestUser, path: string): Promise<number> =>
    (await sendRaw(service.baseUrl, { path, token })).status;
  const askAll = (user: TestUser) => Promise.all(PATHS.map((path) => ask(user, path)));
  /** Whether it is taken from memory. */
  const isRemembered = ({ token }: TestUser): boolean =>
    service.app.get(TokensService).recallCaller(token) !== undefined;
  const change = (statement: string, { id }: TestUser): Promise<unknown> =>
    service.dataSource.query(statement, [id]);

  async function rememberedUser(): Promise<TestUser> {
    const user = await service.createUser();
    await eventually(async () => (await ask(user, '/countries')) === 200 && isRemembered(user));
    return user;
  }

  it('is not looked up again, nor anything else', async () => {
    const user = await rememberedUser();
    await askAll(user);
    const { logger } = service.dataSource;
    const sent = recordStatements(service.dataSource);
    expect(await askAll(user)).toEqual([200, 200, 200]);
    service.dataSource.logger = logger;
    expect([...sent.keys()].filter((text) => /api_tokens|users/.test(text))).toEqual([]);
  });

  it.each([
    ['revoked', 'UPDATE api_tokens SET revoked_at = now() WHERE user_id = $1', 401],
    ['given other scopes', `UPDATE api_tokens SET scopes = '{profile:read}' WHERE user_id = $1`, 403],
    ['bound to a network', `UPDATE api_tokens SET allowed_ips = '{10.0.0.0/8}' WHERE user_id = $1`, 403],
    [
      'expired by hand',
      `UPDATE api_tokens SET expires_at = now() - interval '1 day' WHERE user_id = $1`,
      401,
    ],
    ['one of a blocked user', `UPDATE users SET blocked_at = now(), blocked_reason = 'x' WHERE id = $1`, 403],
  ])('is worth nothing at the next request when it is %s', async (_, statement, status) => {
    for (let n = 0; n < 5; n += 1) {
      const user = await rememberedUser();
      await change(statement, user);
      await service.app.get(TokensService).untilChangeIsHeard();
      expect(await askAll(user)).toEqual([status, status, status]);
    }
  });

  it('expires when it does', async () => {
    const user = await service.createUser();
    const now = service.clock.now();
    await service.dataSource.query('UPDATE api_tokens SET expires_at = $2 WHERE user_id = $1', [
      user.id,
      new Date(now.getTime() + 30_000),
    ]);
    await eventually(async () => (await ask(user, '/countries')) === 200 && isRemembered(user));
    service.clock.advanceSeconds(31);
    expect(await askAll(user)).toEqual([401, 401, 401]);
  });

  it('is looked up once a minute, so that it is known when it was last used', async () => {
    const user = await rememberedUser();
    service.clock.advanceSeconds(61);
    expect(isRemembered(user)).toBe(false);
    await ask(user, '/price?count=1&period=30');
    const [row] = await service.dataSource.query<{ at: Date }[]>(
      'SELECT last_used_at AS at FROM api_tokens WHERE user_id = $1',
      [user.id],
    );
    expect(Math.abs(Number(row?.at) - service.clock.now().getTime())).toBeLessThan(10_000);
  });

  it('is looked up each time while the database does not tell of changes', async () => {
    const user = await rememberedUser();
    await service.dataSource.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE locktype = 'advisory' AND datname = current_database()`,
    );
    await eventually(() => !isRemembered(user));
    await change('UPDATE api_tokens SET revoked_at = now() WHERE user_id = $1', user);
    expect(await askAll(user)).toEqual([401, 401, 401]);
    const other = await rememberedUser();
    expect(isRemembered(other)).toBe(true);
  });
});
