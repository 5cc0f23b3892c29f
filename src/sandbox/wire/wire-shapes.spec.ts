import { sandboxForAllTests } from '../../../test/support/sandbox';

const { client, control } = sandboxForAllTests();

async function buyOne(descr: string): Promise<string> {
  const { list } = await client.call<{ list: Array<{ id: string }> }>(
    `buy/?count=1&period=7&country=nl&version=4&nokey&descr=${descr}`,
  );
  return list[0]?.id ?? '';
}

const listed = async (query: string): Promise<Array<Record<string, unknown>>> =>
  (await client.call<{ list: Array<Record<string, unknown>> }>(`getproxy/?nokey&${query}`)).list;

describe('the catalog', () => {
  test.each(['getprice?count=100&period=30', 'getprice/?count=100&period=30&version=6'])(
    '%s gives the total, linear in the count',
    async (call) => {
      await expect(client.call(call)).resolves.toMatchObject({
        price: 2090,
        price_single: 0.6967,
        period: 30,
        count: 100,
      });
    },
  );

  test('getprice without count and period gives every price by version and days', async () => {
    const { data } = await client.call<{ data: Record<string, Record<string, number>> }>('getprice');

    expect(Object.keys(data)).toEqual(['3', '4', '6']);
    await expect(client.call('getprice?count=1')).resolves.toMatchObject({ data });
    expect(data['6']).toMatchObject({ 3: 2.95, 7: 5.51 });
    expect(data['4']).toMatchObject({ 7: 28, 30: 120 });
    expect(data['4']).not.toHaveProperty('3');
  });

  test('getcountry lists lower-case codes, which differ by version', async () => {
    const lists = await Promise.all(
      ['6', '4', '3'].map(
        async (version) => (await client.call<{ list: string[] }>(`getcountry?version=${version}`)).list,
      ),
    );

    expect(lists.flat().every((code) => /^[a-z]{2}$/.test(code))).toBe(true);
    expect(new Set(lists.map((list) => list.length)).size).toBe(3);
    expect(Math.max(...lists.map((list) => list.length))).toBeGreaterThan(40);
  });

  test('getcount decreases with sales', async () => {
    const before = await client.call<{ count: number }>('getcount?country=de&version=3');
    await client.call('buy?count=5&period=7&country=de&version=3');

    await expect(client.call('getcount?country=de&version=3')).resolves.toMatchObject({
      count: before.count - 5,
    });
  });
});

describe('buy', () => {
  test('charges the balance', async () => {
    await control.setBalance('100.10');

    await expect(client.call('buy?count=3&period=7&country=us&version=4')).resolves.toMatchObject({
      balance: 16.1,
    });
    await control.setBalance('1000000');
  });

  test('defaults to IPv6 over HTTP', async () => {
    await client.call('buy?count=1&period=3&country=fr&descr=defaults');

    await expect(listed('descr=defaults')).resolves.toMatchObject([
      { version: '6', type: 'http', ip: expect.stringContaining('2001:db8:') },
    ]);
  });

  test('buys again when the call is repeated', async () => {
    await buyOne('twice');
    await buyOne('twice');

    await expect(listed('descr=twice')).resolves.toHaveLength(2);
  });
});

describe('getproxy', () => {
  test('adds country, comment and version, and gives dates in Moscow time', async () => {
    const id = await buyOne('moscow');
    await control.changeProxy(Number(id), { unixtimeEnd: 4_100_000_000 });

    await expect(listed('descr=moscow')).resolves.toMatchObject([
      {
        id,
        country: 'nl',
        descr: 'moscow',
        version: '4',
        date_end: '2099-12-03 19:53:20',
        unixtime_end: 4_100_000_000,
      },
    ]);
  });

  test.each(['getproxy?descr=nobody', 'getproxy?descr=nobody&nokey'])(
    '%s: an empty list is an array',
    async (call) => {
      await expect(client.call(call)).resolves.toMatchObject({ list_count: 0, list: [] });
    },
  );

  test('is keyed by id, or an array if nokey is present with any value', async () => {
    const id = await buyOne('keys');

    await expect(client.call('getproxy?descr=keys')).resolves.toMatchObject({
      list_count: 1,
      list: { [id]: { id } },
    });
    await expect(client.call('getproxy?descr=keys&nokey=0')).resolves.toMatchObject({ list: [{ id }] });
  });

  test('pages through all proxies without gaps, also past unlisted ones', async () => {
    await client.call('buy?count=5&period=7&country=nl&version=4&descr=pages');
    const [, second] = await listed('descr=pages');
    await client.call(`delete?ids=${String(second?.['id'])}`);

    const pages = await Promise.all([1, 2, 3].map((page) => listed(`descr=pages&limit=2&page=${page}`)));

    expect(pages.map((page) => page.length)).toEqual([2, 2, 0]);
    const all = await listed('limit=1000');
    const byTwos: unknown[] = [];
    for (let page = 1; page <= Math.ceil(all.length / 2); page += 1) {
      byTwos.push(...(await listed(`limit=2&page=${page}`)));
    }
    expect(byTwos).toEqual(all);
  });

  test('filters active, expiring and expired proxies', async () => {
    const [active, expiring, expired] = [
      await buyOne('states'),
      await buyOne('states'),
      await buyOne('states'),
    ];
    const nowS = Math.floor(Date.now() / 1000);
    await control.changeProxy(Number(expiring), { unixtimeEnd: nowS + 3600 });
    await control.changeProxy(Number(expired), { unixtimeEnd: nowS - 3600 });

    const idsIn = async (state: string) =>
      (await listed(`descr=states&state=${state}`)).map((proxy) => proxy['id']);
    await expect(idsIn('active')).resolves.toEqual([active, expiring]);
    await expect(idsIn('expiring')).resolves.toEqual([expiring]);
    await expect(idsIn('expired')).resolves.toEqual([expired]);
    await expect(idsIn('all')).resolves.toEqual([active, expiring, expired]);
    await expect(listed('descr=states&state=expired')).resolves.toMatchObject([{ active: '0' }]);
  });
});

describe('prolong', () => {
  test('extends the end, and gives ids as numbers', async () => {
    const id = await buyOne('longer');
    const end = Number((await listed('descr=longer'))[0]?.['unixtime_end']) + 30 * 86_400;
    const response = await client.call(`prolong/?period=30&ids=${id},999`);

    expect(response).toMatchObject({ order_id: expect.any(Number), price: 120, period: 30, count: 1 });
    expect(response['list']).toEqual({
      [id]: { id: Number(id), date_end: expect.any(String), unixtime_end: end },
    });
    await expect(listed('descr=longer')).resolves.toMatchObject([{ unixtime_end: end }]);
  });

  test('extends an expired proxy from now, and does not know it after a week', async () => {
    const id = await buyOne('ended');
    const nowS = Math.floor(Date.now() / 1000);
    await control.changeProxy(Number(id), { unixtimeEnd: nowS - 86_400 });
    const { list } = await client.call<{ list: Array<{ unixtime_end: number }> }>(
      `prolong?period=7&ids=${id}&nokey`,
    );
    expect(list[0]?.unixtime_end).toBeGreaterThanOrEqual(nowS + 7 * 86_400);

    await control.changeProxy(Number(id), { unixtimeEnd: nowS - 8 * 86_400 });
    await expect(client.call(`prolong?period=7&ids=${id}`)).resolves.toMatchObject({ error_id: 404 });
    await expect(listed('descr=ended')).resolves.toEqual([]);
  });
});

describe('the other methods', () => {
  test('setdescr changes the comment by ids and by the old comment', async () => {
    const [one] = [await buyOne('old'), await buyOne('old')];

    await expect(client.call(`setdescr?new=newer&ids=${one}`)).resolves.toMatchObject({ count: 1 });
    await expect(client.call('setdescr?new=newer&old=old')).resolves.toMatchObject({ count: 1 });
    await expect(listed('descr=newer')).resolves.toHaveLength(2);
    await expect(listed('descr=old')).resolves.toEqual([]);
  });

  test('settype changes the protocol, and is error 30 when nothing changes', async () => {
    const id = await buyOne('type');
    const [before] = await listed('descr=type');

    await expect(client.call(`settype?ids=${id}&type=socks`)).resolves.toMatchObject({ status: 'yes' });
    const [after] = await listed('descr=type');
    expect(after).toMatchObject({ type: 'socks' });
    expect(after?.['port']).not.toBe(before?.['port']);
    await expect(client.call(`settype?ids=${id}&type=socks`)).resolves.toMatchObject({ error_id: 30 });
  });

  test('delete removes proxies by ids and by comment, without a refund', async () => {
    const one = await buyOne('gone');
    await buyOne('gone');
    const { balance } = await client.call('');

    await expect(client.call(`delete?ids=${one}`)).resolves.toMatchObject({ count: 1 });
    await expect(client.call('delete?descr=gone')).resolves.toMatchObject({ count: 1, balance });
    await expect(client.call('delete?descr=gone')).resolves.toMatchObject({ error_id: 404 });
  });

  test('check says whether a proxy works, by its id or its string', async () => {
    const id = await buyOne('checked');

    await expect(client.call(`check?ids=${id}`)).resolves.toMatchObject({
      proxy_id: Number(id),
      proxy_status: true,
    });
    await client.call(`settype?ids=${id}&type=socks`);
    await expect(client.call(`check?ids=${id}`)).resolves.toMatchObject({ proxy_status: true });
    const { list } = await client.call<{ list: Array<Record<string, string>> }>(
      'getproxy?descr=checked&nokey',
    );
    const [proxy] = list;
    const string = [proxy?.['host'], proxy?.['port'], proxy?.['user'], proxy?.['pass']].join(':');
    await expect(client.call(`check?proxy=${string}`)).resolves.toMatchObject({ proxy_status: true });
    await expect(client.call(`check?proxy=${string}x`)).resolves.toMatchObject({ proxy_status: false });
    await control.setProxyFault(Number(id), 'hang');
    await expect(client.call(`check?ids=${id}`)).resolves.toMatchObject({ proxy_status: false });
    await control.setProxyFault(Number(id), null);
    await control.changeProxy(Number(id), { port: 9 });
    await expect(client.call(`check?ids=${id}`)).resolves.toMatchObject({
      proxy_status: false,
      proxy_time: 0,
    });
  });
});
