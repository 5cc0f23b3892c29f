import { forAllTests, forEachTest } from './support/fixtures';
import { leaveOrderOpen } from './support/open-order';
import { startTestService } from './support/test-service';

describe('an audit against the provider', () => {
  let proxy: { id: string; orderReference: string; end: number };

  // The audit covers all orders, and the tests corrupt what it checks.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  beforeEach(async () => {
    await user.buy();
    [proxy] = await service.dataSource.query(
      `SELECT provider_proxy_id AS id, orders.order_reference AS "orderReference",
              extract(epoch FROM date_end)::int AS end
         FROM proxies JOIN orders ON orders.id = order_id WHERE proxies.user_id = $1`,
      [user.id],
    );
  });
  afterEach(async () => {
    expect(await broken()).toEqual({});
  });

  const broken = () => service.findBroken({ withProvider: true });

  it('finds nothing when both sides agree', async () => {
    expect(await broken()).toEqual({});
  });

  it('finds a proxy under one of our order references that no order accounts for', async () => {
    const { orderReference } = proxy;
    await service.wire.call(`buy/?count=1&period=30&country=ru&version=6&descr=${orderReference}`);
    const found = await broken();
    expect(found).toEqual({
      'provider-proxies-have-an-order-or-are-known-as-unmatched': [
        { provider_proxy_id: expect.any(String), listed_as: orderReference },
      ],
    });
    const [[unmatchedProxy]] = Object.values(found) as [[{ provider_proxy_id: string }]];
    await service.control.withdrawProxy(Number(unmatchedProxy.provider_proxy_id));
  });

  it('counts a row that cannot be read as listed', async () => {
    await service.control.addFault({
      method: 'getproxy',
      match: { page: '1' },
      kind: 'altered',
      changes: [{ path: ['list', proxy.id, 'port'], value: 'none' }],
    });
    expect(await broken()).toEqual({});
    await service.control.resetFaults();
  });

  it('finds a rented proxy that the provider no longer has', async () => {
    await service.control.withdrawProxy(Number(proxy.id));
    expect(await broken()).toEqual({
      'rented-proxies-are-at-the-provider-or-withdrawn': [
        expect.objectContaining({ provider_proxy_id: proxy.id }),
      ],
    });
    await service.owner.query('UPDATE proxies SET withdrawn_at = now() WHERE provider_proxy_id = $1', [
      proxy.id,
    ]);
  });

  it('finds a proxy whose end differs at the provider', async () => {
    const { id } = proxy;
    await service.control.changeProxy(Number(id), { unixtimeEnd: Math.floor(Date.now() / 1000) + 86_400 });
    expect(await broken()).toEqual({
      'end-dates-agree-with-the-provider': [expect.objectContaining({ provider_proxy_id: id })],
    });
    await service.control.changeProxy(Number(id), { unixtimeEnd: proxy.end });
  });

  it('omits what an open order may account for', async () => {
    await leaveOrderOpen(service, user);
    expect(await broken()).toEqual({});
    await service.control.resetFaults();
  });
});
