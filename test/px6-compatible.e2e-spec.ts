import { ALL_SCOPES, TokensService } from '../src/auth';
import { Money } from '../src/common';
import { RequestLimits } from '../src/http';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { sendRaw } from './support/raw-http';
import { startTcpRelay } from './support/tcp-relay';
import { startTestService, type TestUser } from './support/test-service';
import { WireClient } from './support/wire-client';
import { WIRE_REFUSALS } from './support/wire-refusals';

interface WireProxy {
  readonly id: string;
  readonly host: string;
  readonly port: string;
  readonly user: string;
  readonly pass: string;
  readonly unixtime_end: number;
}

type Body = Record<string, unknown>;
type Listing = Body & { readonly list: readonly WireProxy[] };

/** Clients parse it as Moscow time without a zone. */
const DATED = { date_mod: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) };
const BUY = 'buy/?count=1&period=30&country=ru&version=4&nokey';
const log = captureLog();
afterAll(() => log.stop());
const relay = forAllTests(startTcpRelay);
const service = forAllTests(async () => {
  const started = await startTestService({
    environment: { PX6_COMPATIBLE: 'on', LOG_LEVEL: 'info', ECHO_URL: `http://127.0.0.1:${relay.port}/echo` },
    tuning: { px6CallsPerSecond: 1_000_000 },
  });
  relay.target = Number(new URL(started.baseUrl).port);
  return started;
});
beforeClosing(() => service.audit({ withProvider: true }));
const user = forEachTest(() => service.createUser());
afterEach(() => service.control.resetFaults());

const clientOf = ({ token }: Pick<TestUser, 'token'>) => new WireClient(service.baseUrl, token);
const send = (call: string, from: Pick<TestUser, 'token'> = user) => clientOf(from).send(call);
const call = <Result = Body>(text: string, from: Pick<TestUser, 'token'> = user) =>
  clientOf(from).call<Result>(text);
const refusal = (id: number) => ({ status: 'no', error_id: id, error: expect.any(String) });
const list = async (query = '') => (await call<Listing>(`getproxy?nokey&${query}`)).list;

async function buy(more = ''): Promise<WireProxy> {
  const [proxy] = (await call<Listing>(BUY + more)).list;
  if (!proxy) throw new Error('nothing was bought');
  return proxy;
}

const issue = (token: Partial<Parameters<TokensService['issue']>[0]>) =>
  service.app
    .get(TokensService)
    .issue({ userId: user.id, scopes: ALL_SCOPES, ...token })
    .then(({ text }) => ({ token: text }));

describe('The wire of PROXY6', () => {
  it('has the countries, the stock and the prices of our own routes', async () => {
    const { data } = await user.api.GET('/prices');
    const price = data?.prices.find(({ version, period }) => version === '4s' && period === 30)?.price_single;
    const quote = (
      await user.api.GET('/price', { params: { query: { count: 3, period: 30, version: '4s' } } })
    ).data;
    expect(quote?.price_single).toBe(price);
    const undated = { status: 'yes', user_id: String(user.id), balance: '10000.00', currency: 'RUB' };
    const envelope = { ...undated, ...DATED };
    expect(await call('')).toEqual(envelope);
    const table = await call<{ data: Record<string, Record<string, number>> }>('getprice/');
    expect(table).toMatchObject(envelope);
    expect(table.data['3']?.['30']).toBe(Number(price));
    expect(Object.keys(table.data).sort()).toEqual(['3', '4', '6']);
    expect(await call('getprice?count=3&period=30&version=3')).toEqual({
      ...envelope,
      price: Number(quote?.price_final),
      price_single: expect.any(Number),
      period: 30,
      count: 3,
    });
    const countries = (await user.api.GET('/countries', { params: { query: { version: '4' } } })).data;
    expect(await call('getcountry?version=4')).toEqual({ ...undated, list: countries });
    expect(await call('getcount?country=ru&version=4')).toEqual({ ...undated, count: expect.any(Number) });
  });

  it('buys, lists, describes and prolongs, from the balance', async () => {
    const bought = await call('buy?count=2&period=30&country=ru&version=4&type=socks&descr=one');
    const [charge] = (await user.api.GET('/orders')).data?.items ?? [];
    expect(bought).toMatchObject({
      status: 'yes',
      balance: (10_000 - Number(charge?.charged)).toFixed(2),
      ...DATED,
      order_id: charge?.id,
      count: 2,
      price: Number(charge?.charged),
      price_single: Number((Number(charge?.charged) / 60).toFixed(4)),
      period: 30,
      country: 'ru',
    });
    const ids = Object.keys(bought['list'] as object);
    const proxy = {
      id: ids[0],
      version: '4',
      ip: expect.any(String),
      host: expect.any(String),
      port: expect.stringMatching(/^\d+$/),
      user: expect.any(String),
      pass: expect.any(String),
      type: 'socks',
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      date_end: expect.any(String),
      unixtime: expect.any(Number),
      unixtime_end: expect.any(Number),
      active: '1',
    };
    expect(Object.values(bought['list'] as object)[0]).toEqual(proxy);
    const [own] = (await user.api.GET('/proxies')).data ?? [];
    expect(own).toMatchObject({ id: ids[0], descr: 'one', version: '4', proxy_type: 'socks' });

    const listed = { ...proxy, country: 'ru', descr: 'one' };
    expect(await call(`getproxy?state=active&descr=one&limit=1`)).toMatchObject({
      ...DATED,
      list_count: 1,
      page: 1,
      list: { [String(ids[0])]: listed },
    });
    expect((await list('descr=one&limit=1&page=2')).map(({ id }) => id)).toEqual([ids[1]]);
    expect([await list('descr=other'), (await call('getproxy?descr=other'))['list']]).toEqual([[], []]);
    expect([await list('state=expiring'), await list('state=expired')]).toEqual([[], []]);

    const prolonged = await call(`prolong/?period=7&ids=${ids.join()},999999999`);
    const orders = (await user.api.GET('/orders', { params: { query: { kind: 'prolongation' } } })).data;
    const end = (one: WireProxy | undefined) => (one?.unixtime_end ?? 0) + 7 * 86_400;
    const before = bought['list'] as Record<string, WireProxy>;
    expect(prolonged).toMatchObject({
      balance: (await service.balanceOf(user)).available,
      ...DATED,
      order_id: Math.min(...(orders?.items ?? []).map(({ id }) => id)),
      price: 2 * Number(orders?.items[0]?.charged),
      period: 7,
      count: 2,
      list: Object.fromEntries(
        ids.map((id) => [
          id,
          { id: Number(id), date_end: expect.any(String), unixtime_end: end(before[id]) },
        ]),
      ),
    });

    expect(await call(`setdescr?new=two&old=one`)).toMatchObject({ count: 2 });
    expect(await call(`setdescr?new=${encodeURIComponent('é'.repeat(50))}&ids=${ids[0]}`)).toMatchObject({
      count: 1,
    });
    expect(await list('descr=two')).toHaveLength(1);
    await user.api.PATCH('/proxies/{proxy_id}', {
      params: { path: { proxy_id: String(ids[0]) } },
      body: { descr: 'é'.repeat(70) },
    });
    expect((await list('limit=1'))[0]).toMatchObject({ descr: 'é'.repeat(50) });
  });

  it('checks and changes the types of own proxies', async () => {
    const { id, host, port, user: login, pass } = await buy();
    const works = { proxy_id: Number(id), proxy_status: true, proxy_time: expect.any(Number), ...DATED };
    expect(await call(`check?ids=${id}`)).toMatchObject(works);
    expect(await call(`check?proxy=${host}:${port}:${login}:${pass}`)).toMatchObject(works);
    expect(await call(`check?proxy=${host}:${port}:${login}:wrong`)).toEqual(refusal(404));
    const stranger = await service.createUser();
    expect(await call(`check?proxy=${host}:${port}:${login}:${pass}`, stranger)).toEqual(refusal(404));
    expect(await call(`settype?ids=${id}&type=http`)).toEqual(refusal(30));
    expect(await call(`settype?ids=${id}&type=socks`)).toMatchObject({ status: 'yes' });
    expect(await list()).toEqual([expect.objectContaining({ id, type: 'socks' })]);
    const withdraw = (at: string) =>
      service.owner.query(`UPDATE proxies SET withdrawn_at = ${at} WHERE id = $1`, [id]);
    await withdraw('now()');
    expect([await list(), await call(`setdescr?new=a&ids=${id}`)]).toEqual([[], refusal(404)]);
    await withdraw('NULL');
    const many = Array.from({ length: 21 }, (_, n) => n + 1).join();
    expect(await call(`settype?ids=${many}&type=socks`)).toEqual(refusal(230));
  });

  it('refuses with an error for each reason, and charges nothing', async () => {
    const refused = [
      ...WIRE_REFUSALS,
      [110, 'delete?ids=1'],
      [110, 'ipauth?ip=127.0.0.1'],
      [110, `${BUY}&auto_prolong`],
      [200, 'buy?count=1001&period=7&country=nl&version=4'],
      [250, 'setdescr?new=a%00&ids=1'],
      [250, `${BUY}&descr=key:a%20b`],
    ] as const;
    const responses: unknown[] = [];
    for (const [, text] of refused) {
      const response = await send(text);
      responses.push([text, response.status, response.json()]);
    }
    expect(responses).toEqual(refused.map(([id, text]) => [text, 200, refusal(id)]));
    expect(await service.balanceOf(user)).toMatchObject({ available: '10000.00', held: '0.00' });
  });

  it('refuses what the stock or the balance does not cover', async () => {
    expect(await call(BUY, await service.createUser({ balance: '1.00' }))).toEqual(refusal(400));
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    expect(await call(BUY)).toEqual(refusal(300));
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 400 });
    const closed = await send(BUY);
    expect([closed.status, closed.headers['retry-after']]).toEqual([429, expect.any(String)]);
    expect(await service.balanceOf(user)).toMatchObject({ available: '10000.00' });
  });

  it('buys once under a label that is a key', async () => {
    const first = await buy('&descr=key:a');
    expect(await buy('&descr=key:a')).toEqual(first);
    expect(await call(`${BUY}&descr=key:a&type=socks`)).toEqual(refusal(250));
    for (const same of ['%20key:a', 'key:a%20', '+key:a+', 'key:a%C2%A0', '%6Bey%3Aa']) {
      expect(await buy(`&descr=${same}`)).toEqual(first);
    }
    const nearly = [
      'KEY:a',
      'Key:a',
      'key%20:a',
      'key%EF%BC%9Aa',
      '"key:a"',
      '%60key:a',
      '%E2%80%8Bkey:a',
      '-key:a',
    ];
    for (const text of [...nearly, 'key:a%E2%80%8B', 'key:%20a']) {
      expect([text, await call(`${BUY}&descr=${text}`)]).toEqual([text, refusal(250)]);
    }
    expect((await user.api.GET('/orders')).data?.items).toHaveLength(1);
    expect(await list('descr=key:a')).toHaveLength(1);
    expect((await buy('&descr=a')).id).not.toBe((await buy('&descr=a')).id);
  });

  it('never denies what is not known', async () => {
    const { id } = await buy('&descr=old');
    const statusOf = async (text: string) => (await send(text)).status;
    const buyGate = await service.control.addGate({ method: 'buy', stage: 'executed' });
    const buying = statusOf(`${BUY}&descr=key:open`);
    await service.control.untilGateReached(buyGate);
    expect(await statusOf(`${BUY}&descr=key:open`)).toBe(503);
    expect([await statusOf('getproxy?descr=key:open'), await list('descr=never')]).toEqual([503, []]);
    expect(await list('descr=old')).toHaveLength(1);
    await service.control.openGate(buyGate);
    expect(await buying).toBe(200);
    expect(await list('descr=key:open')).toHaveLength(1);
    const gate = await service.control.addGate({ method: 'prolong', stage: 'executed' });
    const prolonging = statusOf(`prolong?ids=${id}&period=7`);
    await service.control.untilGateReached(gate);
    expect(await statusOf('getproxy?descr=old')).toBe(503);
    expect(await statusOf(`prolong?ids=${id}&period=7`)).toBe(503);
    expect(await list()).toHaveLength(2);
    await service.control.openGate(gate);
    expect(await prolonging).toBe(200);
    await service.untilSettled();
    expect(await list('descr=old')).toHaveLength(1);
  });

  it('says during maintenance that a label is not known, and that nothing is bought', async () => {
    await buy('&descr=before');
    await service.owner.query('INSERT INTO maintenance DEFAULT VALUES');
    const statuses = await Promise.all(
      ['getproxy?descr=lost', 'getproxy', BUY].map(async (text) => (await send(text)).status),
    );
    await service.owner.query('UPDATE maintenance SET ended_at = now()');
    expect(statuses).toEqual([503, 200, 429]);
  });
});

describe('A token in the path', () => {
  it('is refused as PROXY6 refuses keys, and counted for its address', async () => {
    const wrong = new WireClient(service.baseUrl, 'prx_wrong');
    const count = jest.spyOn(service.app.get(RequestLimits), 'countFailure');
    for (const text of ['', 'getprice', 'nothing/more']) expect(await wrong.call(text)).toEqual(refusal(100));
    expect(count).toHaveBeenCalledTimes(3);
    count.mockRestore();
    const rights = await issue({ scopes: ['profile:read', 'price:read'] });
    expect(await call('getprice', rights)).toMatchObject({ status: 'yes' });
    expect(await call('getproxy', rights)).toEqual(refusal(110));
    expect(await call('getprice', await issue({ scopes: ['price:read'] }))).toEqual(refusal(110));
    expect(await call('', await issue({ allowedIps: ['203.0.113.0/24'] }))).toEqual(refusal(105));
    await service.dataSource.query('UPDATE users SET blocked_at = now(), blocked_reason = $2 WHERE id = $1', [
      user.id,
      'test',
    ]);
    expect(await call('', user)).toEqual(refusal(100));
  });

  it('is the only one that counts, and only as written', async () => {
    const stranger = await service.createUser();
    const path = `/api/${user.token}/`;
    const at = async (text: string, method = 'GET') => {
      const request = { method, path: text, headers: { authorization: `Bearer ${stranger.token}` } };
      return sendRaw(service.baseUrl, request);
    };
    expect((await at(path)).json()).toMatchObject({ user_id: String(user.id) });
    for (const text of ['/api/x/', path.replace('api', '%61pi'), path.replace('/api/', '/api%2F')]) {
      expect([text, (await at(text)).json()]).toEqual([text, refusal(100)]);
    }
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      const { status, headers } = await at(`${path}buy`, method);
      expect([method, status, headers.allow]).toEqual([method, 405, 'GET']);
    }
    for (const text of [path, '/api/x/', `${path}nothing`]) {
      expect((await at(text)).headers['cache-control']).toBe('no-store');
    }
  });

  it('is in no line of the log', async () => {
    const { token } = user;
    const before = log.lines.length;
    await send('getprice');
    await send('getprice', { token: token.slice(0, 20) });
    await sendRaw(service.baseUrl, { path: `/api/${token.slice(0, 20)}` });
    await sendRaw(service.baseUrl, { path: `//API/${token.slice(0, 20)}/buy` });
    // Lines are logged after their responses.
    const lines = () => log.lines.slice(before);
    await eventually(() => lines().filter((line) => /"path":"\/+(api|API)\/…"/.test(line)).length >= 4);
    expect(lines().join('')).not.toContain(token.slice(4, 16));
  });

  it('with a daily limit orders under no label that a renewal rule selects', async () => {
    await user.api.POST('/renewals/rules', {
      body: { target: 'filter', filter: { label: 'renewed' }, period: 30 },
    });
    const limited = await issue({ dailyLimit: Money.parse('5000.00') });
    expect(await call(`${BUY}&descr=other`, limited)).toMatchObject({ status: 'yes' });
    expect(await call(`${BUY}&descr=renewed`, limited)).toEqual(refusal(110));
  });
});

describe('A service whose provider is another one', () => {
  const between = forAllTests(startTcpRelay);
  const second = forAllTests(async () => {
    between.target = Number(new URL(service.baseUrl).port);
    const { token: apiKey } = await service.createUser({ balance: '100000.00' });
    return startTestService({
      // The services of a process share its log.
      environment: { LOG_LEVEL: 'info' },
      provider: { baseUrl: `http://127.0.0.1:${between.port}`, apiKey },
    });
  });
  beforeClosing(() => second.audit({ withProvider: true }));

  it('sells, prolongs and changes what that one sells, and no wire of its own unless it is on', async () => {
    const customer = await second.createUser();
    const { data } = await customer.buy({ count: 2, version: '4s' });
    expect(data?.proxies).toHaveLength(2);
    const [proxy] = data?.proxies ?? [];
    const { data: prolonged } = await customer.prolong(proxy?.id ?? '', { period: 30 });
    expect(Date.parse(prolonged?.proxy.date_end ?? '')).toBe(
      Date.parse(proxy?.date_end ?? '') + 30 * 86_400_000,
    );
    const changed = await customer.api.PUT('/proxies/{proxy_id}/type', {
      params: { path: { proxy_id: proxy?.id ?? '' } },
      body: { proxy_type: 'socks' },
    });
    expect(changed.data).toMatchObject({ proxy_type: 'socks' });
    expect((await sendRaw(second.baseUrl, { path: `/api/${customer.token}/getprice` })).status).toBe(404);
  });

  it('refunds nothing that arrives late', async () => {
    const customer = await second.createUser();
    const gate = await service.control.addGate({ method: 'buy', stage: 'executed' });
    const buying = customer.buy();
    await service.control.untilGateReached(gate);
    between.cut();
    expect((await buying).response.status).toBe(503);
    await service.control.openGate(gate);
    await second.untilSettled();
    expect((await customer.api.GET('/orders')).data?.items).toMatchObject([{ state: 'completed' }]);
    expect((await customer.api.GET('/proxies')).data).toHaveLength(1);
  });
});
