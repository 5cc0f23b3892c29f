import { recordStatements } from '../bench/support/statement-plans';
import { TokensService } from '../src/auth';
import { CurrentMarkups, PriceRulesService } from '../src/pricing';
import { eventually } from './support/built-service';
import { type RawAnswer, sendRaw } from './support/raw-http';
import { startTestService, type TestService, type TestUser } from './support/test-service';

const PATHS = [
  '/countries',
  '/countries?version=4',
  '/countries/RU/count',
  '/countries/xx/count',
  '/price?count=3&period=30',
  '/price?count=1&period=7&version=4',
];

describe('What the catalog told before', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  const ask = (user: TestUser, path: string, method = 'GET'): Promise<RawAnswer> =>
    sendRaw(service.baseUrl, { method, path, token: user.token });

  const told = ({ status, text, headers }: RawAnswer) => ({
    status,
    text,
    headers: { ...headers, 'x-request-id': 'any', date: 'any' },
  });

  /** One that no token was looked up for: it came from memory. Now and then nothing is remembered for a moment. */
  function recalled(user: TestUser, path: string): Promise<RawAnswer> {
    const { logger } = service.dataSource;
    return eventually(async () => {
      const sent = recordStatements(service.dataSource);
      const answer = await ask(user, path);
      service.dataSource.logger = logger;
      return [...sent.keys()].some((text) => text.includes('api_tokens')) ? undefined : answer;
    });
  }

  async function rememberedUser(): Promise<TestUser> {
    const user = await service.createUser();
    await eventually(async () => {
      await ask(user, '/me');
      return service.app.get(TokensService).recallCaller(user.token) !== undefined;
    });
    return user;
  }

  it.each(PATHS)('of %s is told from memory, to the byte', async (path) => {
    const [first, other] = [await rememberedUser(), await rememberedUser()];
    const answer = await ask(first, path);
    expect(answer.status).toBe(200);
    expect(told(await recalled(first, path))).toEqual(told(answer));
    expect(told(await recalled(other, path))).toEqual(told(answer));
    const head = await ask(first, path, 'HEAD');
    expect(told(head)).toEqual({ ...told(answer), text: '' });
  });

  it.each([
    ['/price?count=3&period=1', 400],
    ['/price?count=3&period=17', 400],
    ['/price?count=0&period=30', 422],
    ['/countries?version=7', 422],
  ])('of %s is refused each time', async (path, status) => {
    const user = await rememberedUser();
    for (let n = 0; n < 3; n += 1) expect((await ask(user, path)).status).toBe(status);
  });

  it('is told to nobody without its scope', async () => {
    const user = await rememberedUser();
    const other = await service.createUser({ scopes: ['profile:read'] });
    for (const path of PATHS) {
      expect((await recalled(user, path)).status).toBe(200);
      for (let n = 0; n < 2; n += 1) expect((await ask(other, path)).status).toBe(403);
      expect((await sendRaw(service.baseUrl, { path })).status).toBe(401);
    }
  });

  it('is each user’s own price', async () => {
    const [user, other] = [await rememberedUser(), await rememberedUser()];
    const path = '/price?count=1&period=30';
    const before = (await ask(user, path)).text;
    expect((await ask(other, path)).text).toBe(before);
    await service.app
      .get(PriceRulesService)
      .add({ userId: other.id, markupPercent: '77' }, { by: 'test', reason: 'test' });
    await service.app.get(CurrentMarkups).follow();
    await eventually(async () => (await ask(other, path)).text !== before);
    expect((await recalled(user, path)).text).toBe(before);
    expect((await recalled(other, path)).text).not.toBe(before);
  });

  it('knows at once what was sold', async () => {
    const user = await rememberedUser();
    const path = '/countries/de/count';
    const stock = async (): Promise<number> =>
      ((await ask(user, path)).json() as { available: number }).available;
    const before = await stock();
    await user.api.POST('/proxies/buy', { body: { country: 'de', period: 30, count: 2 } });
    expect(await stock()).toBe(before - 2);
  });

  it('is asked for again after a minute', async () => {
    const user = await rememberedUser();
    await ask(user, '/countries');
    await recalled(user, '/countries');
    await service.control.clearCalls();
    service.clock.advanceSeconds(61);
    expect((await ask(user, '/countries')).status).toBe(200);
    expect(await service.control.getCalls('getcountry')).toHaveLength(1);
  });

  it('is stock only while it is known what is on sale', async () => {
    const path = '/countries/us/count?version=4';
    await ask(await rememberedUser(), '/countries?version=4');
    service.clock.advanceSeconds(30);
    // Whose token is remembered still when the list is a minute old.
    const user = await rememberedUser();
    await ask(user, path);
    await recalled(user, path);
    await service.control.clearCalls();
    service.clock.advanceSeconds(31);
    expect((await ask(user, path)).status).toBe(200);
    expect(await service.control.getCalls('getcountry')).not.toEqual([]);
  });
});
