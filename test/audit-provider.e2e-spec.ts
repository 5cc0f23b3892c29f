import { IntegrityService } from '../src/integrity';
import { WireClient } from '../src/sandbox';
import { leaveOrderOpen } from './support/open-order';
import { startTestService, type TestService, type TestUser } from './support/test-service';

describe('an audit against the provider', () => {
  let service: TestService;
  let user: TestUser;

  beforeEach(async () => {
    service = await startTestService();
    user = await service.createUser();
    await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
  });
  afterEach(() => service.close());

  async function broken(): Promise<Record<string, readonly unknown[]>> {
    const { ok, checks } = await service.app.get(IntegrityService).run({ withProvider: true });
    const found = checks.filter(({ violations }) => violations > 0);
    expect(ok).toBe(found.length === 0);
    return Object.fromEntries(found.map(({ name, rows }) => [name, rows]));
  }

  async function providerId(): Promise<string> {
    const [proxy] = await service.dataSource.query('SELECT provider_proxy_id AS id FROM proxies');
    return proxy.id;
  }

  it('finds nothing when both sides agree', async () => {
    expect(await broken()).toEqual({});
  });

  it('finds a proxy under one of our tags that no order accounts for', async () => {
    const [{ tag }] = await service.dataSource.query('SELECT tag FROM orders');
    const stranger = new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey);
    await stranger.ask(`buy/?count=1&period=30&country=ru&version=6&descr=${tag}`);
    expect(await broken()).toEqual({
      'provider-proxies-have-an-order-or-are-known-orphans': [{ provider_proxy_id: expect.any(String), tag }],
    });
  });

  it('finds a rented proxy that the provider no longer has', async () => {
    const id = await providerId();
    await service.control.withdrawProxy(Number(id));
    expect(await broken()).toEqual({
      'rented-proxies-are-at-the-provider-or-withdrawn': [expect.objectContaining({ provider_proxy_id: id })],
    });
  });

  it('finds a proxy whose end differs at the provider', async () => {
    const id = await providerId();
    await service.control.changeProxy(Number(id), { unixtimeEnd: Math.floor(Date.now() / 1000) + 86_400 });
    expect(await broken()).toEqual({
      'end-dates-agree-with-the-provider': [expect.objectContaining({ provider_proxy_id: id })],
    });
  });

  it('leaves out what an open order may account for', async () => {
    await leaveOrderOpen(service, user);
    expect(await broken()).toEqual({});
  });
});
