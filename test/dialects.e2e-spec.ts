import { ProxyProvider } from '../src/provider';
import PUBLISHED from './fixtures/px6-responses.json';
import { forAllTests } from './support/fixtures';
import { sandboxForAllTests } from './support/sandbox';
import { startTestService } from './support/test-service';

const NUMBERS = ['published', 'strings', 'numbers'] as const;

/** Names and JSON types of a response; only the first item of a list or table. */
function shapeOf(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return [shapeOf(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const entries = Object.entries(value).map(([field, inner]) => [field, shapeOf(inner, field)] as const);
  const isKeyed = name === 'list' || name === 'data' || /^\d+$/.test(name);
  return isKeyed ? { each: entries[0]?.[1] } : Object.fromEntries(entries);
}

describe('the sandbox', () => {
  const { client, control } = sandboxForAllTests();

  it.each(Object.entries(PUBLISHED['2025']))(
    'serves %p with the published fields',
    async (call, published) => {
      const { list } = await client.call<{
        list: Array<Record<'id' | 'host' | 'port' | 'user' | 'pass', string>>;
      }>('buy?count=1&period=7&country=ru&nokey');
      const [proxy] = list;
      if (!proxy) throw new Error('nothing was bought');
      const string = [proxy.host, proxy.port, proxy.user, proxy.pass].join(':');
      const response = await client.call(call.replace('{id}', proxy.id).replace('{string}', string));

      expect(shapeOf(response)).toEqual(shapeOf(published));
    },
  );

  it('writes all numbers as strings, or all as numbers, when the dialect says so', async () => {
    const { list } = await client.call<{ list: Array<{ id: string; user: string }> }>(
      'buy?count=1&period=7&country=ru&descr=77&nokey',
    );
    const [proxy] = list;

    await control.setDialect({ numbers: 'strings' });
    await expect(client.call('getproxy?descr=77&nokey')).resolves.toMatchObject({
      list_count: '1',
      list: [{ id: proxy?.id, unixtime: expect.any(String), active: '1' }],
    });
    await expect(client.call('getprice')).resolves.toMatchObject({ data: { 6: { 3: '2.95' } } });
    await expect(client.call('getcount')).resolves.toMatchObject({ error_id: '220' });

    await control.setDialect({ numbers: 'numbers' });
    await expect(client.call('getproxy?descr=77&nokey')).resolves.toMatchObject({
      user_id: expect.any(Number),
      balance: expect.any(Number),
      list: [
        {
          id: Number(proxy?.id),
          port: expect.any(Number),
          version: 6,
          active: 1,
          user: proxy?.user,
          descr: '77',
        },
      ],
    });
    await control.setDialect({ numbers: 'published' });
  });

  it('names no single price of a prolongation whose prices differ', async () => {
    const ids = await Promise.all(
      ['4', '6'].map(async (version) => {
        const { list } = await client.call<{ list: Array<{ id: string }> }>(
          `buy?count=1&period=7&country=ru&version=${version}&nokey`,
        );
        return list[0]?.id;
      }),
    );

    await expect(client.call(`prolong?period=7&ids=${ids[0]}`)).resolves.toMatchObject({ price_single: 4 });
    expect(await client.call(`prolong?period=7&ids=${ids.join()}`)).not.toHaveProperty('price_single');
  });

  it.each([
    ['getcountry?version=5', { status: 'yes', list: [] }],
    ['getcount?country=ru&version=5', { status: 'yes', count: 0 }],
    ['getprice?count=1&period=30&version=5', { error_id: 410 }],
    ['buy?count=1&period=30&country=ru&version=5', { error_id: 410 }],
  ])('knows version 5 and does not sell it: %s', async (call, response) => {
    await expect(client.call(call)).resolves.toMatchObject(response);
  });

  it.each(['ipauth', 'ipauth?ip=', 'ipauth?ip=1.2.3', 'ipauth?ip=1.2.3.4,', 'ipauth?ip=1.2.3.4,delete'])(
    'refuses %s',
    async (call) => {
      await expect(client.call(call)).resolves.toMatchObject({ error_id: 105 });
    },
  );
});

describe('the service', () => {
  // Each form is audited with the provider, which lists little then.
  const service = forAllTests(startTestService);

  it.each(NUMBERS)('sells, lists and prolongs with the provider’s numbers as %s', async (numbers) => {
    await service.control.setDialect({ numbers });
    const provider = service.app.get(ProxyProvider);
    expect(await provider.countries('6')).toContain('ru');
    expect(await provider.stock('ru', '6')).toBeGreaterThan(0);
    expect((await provider.priceTable()).get('4')?.get(7)).toBe('28');
    expect(await provider.totalPrice({ count: 3, period: 7, version: '6' })).toBe('16.53');

    const user = await service.createUser();
    const body = { country: 'ru', period: 7, count: 2 };
    const bought = await user.buy(body);
    const [proxy] = bought.data?.proxies ?? [];
    if (!proxy) throw new Error(`nothing was bought: ${JSON.stringify(bought.error)}`);
    expect((await user.prolong(proxy.id, { period: 7 })).error).toBeUndefined();

    const { sales, balanceKopecks } = await service.control.getState();
    const listed = await provider.proxiesByReference(sales.at(-1)?.descr ?? '');
    expect(listed).toHaveLength(2);
    expect(listed.map(({ version }) => version)).toEqual(['6', '6']);
    expect(Number(provider.spendable()) * 100).toBeCloseTo(balanceKopecks);
    await service.audit({ withProvider: true });
  });
});
