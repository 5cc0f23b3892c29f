import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { Global, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import PUBLISHED from '../../../test/fixtures/px6-responses.json';
import { eventually } from '../../../test/support/built-service';
import { beforeClosing, forAllTests } from '../../../test/support/fixtures';
import { listen } from '../../../test/support/listen';
import { TestClock } from '../../../test/support/test-clock';
import { createTestDatabase } from '../../../test/support/test-database';
import { Clock, SystemClock } from '../../common';
import { AppConfig } from '../../config';
import { DatabaseModule } from '../../database';
import { Retention, Jobs } from '../../jobs';
import { Metrics } from '../../metrics';
import { Deadline } from '../deadline';
import {
  ProviderClosed,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
} from '../provider-errors';
import { ProviderModule } from '../provider.module';
import { type ProviderCallRecord, ProxyProvider, type RatePermit } from '../proxy-provider';
import { GuardedTransport } from './guarded-transport';

const API_KEY = 'secret-key-0123456789';
const NO_RESPONSE = 'no response in time';
const ENVELOPE = { status: 'yes', user_id: '1', balance: '48.80', currency: 'RUB' };
const PROXY = {
  id: '11',
  ip: '2a00::1',
  host: '185.22.134.250',
  port: '7330',
  user: '5svBNZ',
  pass: 'iagn2d',
  type: 'http',
  date: '2016-06-19 16:32:39',
  date_end: '2016-07-12 11:50:41',
  unixtime: 1466379159,
  unixtime_end: 1468349441,
  active: '1',
};
const ORDER = {
  orderReference: 'prs.t.u1.o1',
  country: 'ru',
  version: '4s',
  period: 7,
  count: 1,
  proxyType: 'http',
} as const;
const BOUGHT = {
  ...ENVELOPE,
  order_id: 7,
  count: 1,
  price: '28.00',
  period: 7,
  country: 'ru',
  list: { 11: PROXY },
};

type Respond = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const json =
  (body: unknown, status = 200): Respond =>
  (_, response) =>
    response.writeHead(status).end(JSON.stringify(body));

describe('the PROXY6 adapter', () => {
  const modules: TestingModule[] = [];
  let provider: ProxyProvider;
  let respond: Respond;
  let urls: string[];
  const calls: ProviderCallRecord[] = [];
  const database = forAllTests(createTestDatabase);
  const server = forAllTests(() =>
    http.createServer((request, response) => {
      urls.push(request.url ?? '');
      respond(request, response);
    }),
  );
  beforeAll(async () => {
    provider = await createProvider(await listen(server));
  });
  beforeEach(() => {
    urls = [];
    calls.length = 0;
  });
  beforeClosing(async () => {
    server.closeAllConnections();
    await Promise.all(modules.map((module) => module.close()));
  });

  async function createProvider(port: number): Promise<ProxyProvider> {
    const config = {
      database: { url: database.url, poolSize: 2 },
      provider: {
        baseUrl: `http://127.0.0.1:${port}`,
        apiKey: API_KEY,
        timeoutMs: 10_000,
        ratePerSecond: 0,
        lowBalance: '0',
      },
      outgoing: { noProxy: '' },
      purchases: { waitMs: 1000 },
      tuning: { poolWaitMs: 1000, breakerFailures: 1000, breakerProbeMs: 600_000 },
    };
    @Global()
    @Module({
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useClass: TestClock },
        { provide: Metrics, useValue: Metrics.disabled },
        Retention,
        Jobs,
      ],
      exports: [AppConfig, Clock, Metrics, Retention, Jobs],
    })
    class GlobalsModule {}
    const imports = [GlobalsModule, DatabaseModule, ProviderModule];
    const module = await Test.createTestingModule({ imports }).compile();
    modules.push(await module.init());
    return module.get(ProxyProvider);
  }

  const permitted = async (from = provider) => ({
    permit: await from.waitForPermit('order', 0),
    quoted: '28.00',
  });

  const buy = async (deadline = Deadline.after(10_000)) =>
    provider.buy(ORDER, { ...(await permitted()), deadline, onCall: (call) => void calls.push(call) });

  const failureOf = (call: Promise<unknown>): Promise<unknown> => call.catch((thrown: unknown) => thrown);

  it('sends the documented request, with the provider’s number of the version', async () => {
    respond = json(BOUGHT);
    await buy();
    expect(urls).toEqual([
      `/api/${API_KEY}/buy/?count=1&period=7&country=ru&version=3&type=http&descr=prs.t.u1.o1`,
    ]);
  });

  it.each<[string, unknown]>([
    ['an object keyed by id', { 11: PROXY }],
    ['an array', [PROXY]],
    ['numbers for strings', [{ ...PROXY, id: 11, port: 7330 }]],
    ['strings for numbers', [{ ...PROXY, unixtime: '1466379159', unixtime_end: '1468349441' }]],
    ['undocumented fields', [{ ...PROXY, date_mod: '2020-01-01', type: 'auto' }]],
    ['a type that is not known', [{ ...PROXY, type: 'mtproto' }]],
  ])('reads a list that is %s', async (_, list) => {
    respond = json({ ...BOUGHT, list, count: '1', price: 28, balance: 48.8 });
    const purchase = await buy();
    expect(purchase.charge).toBe('28');
    expect(purchase.proxies).toMatchObject([
      {
        id: '11',
        host: '185.22.134.250',
        port: '7330',
        login: '5svBNZ',
        password: 'iagn2d',
        dateStart: new Date('2016-06-19T23:32:39Z'),
        dateEnd: new Date('2016-07-12T18:50:41Z'),
      },
    ]);
  });

  it.each(Object.entries(PUBLISHED))(
    'reads the responses that were published in %s',
    async (_, published) => {
      respond = (request, response) => {
        const method = request.url?.split('/')[3] ?? '';
        const sample = Object.entries(published).find(([call]) => call.split('?')[0] === method)?.[1];
        json(sample)(request, response);
      };
      expect(await provider.countries('4')).toEqual(['ru', 'ua', 'us']);
      expect(await provider.stock('ru', '6')).toBe(971);
      const listed = await provider.proxiesByReference('', { isEnough: () => true });
      expect(listed).toMatchObject([{ id: '11', country: 'ru' }]);
      expect(await buy()).toMatchObject({ charge: '6.3', proxies: [{ id: '15', password: 'iagn2d' }] });
      expect(provider.spendable()).toBe('42.5');
      expect(await provider.prolong({ proxyIds: ['15'], period: 7 }, await permitted())).toMatchObject({
        charge: '6.3',
        dateEnds: new Map([['15', new Date(1466379159_000)]]),
      });
    },
  );

  it('reads the price table of known versions, as numbers or strings', async () => {
    respond = json({
      ...ENVELOPE,
      data: { 6: { 3: 2.95, 7: '5.51' }, 3: { 30: 12 }, 4: {}, 8: { 7: 'soon' } },
    });
    const table = await provider.priceTable();
    expect(urls).toEqual([`/api/${API_KEY}/getprice/`]);
    expect(
      Object.fromEntries([...table].map(([version, prices]) => [version, Object.fromEntries(prices)])),
    ).toEqual({ '6': { 3: '2.95', 7: '5.51' }, '4': {}, '4s': { 30: '12' } });
  });

  it.each([
    ['no table', {}],
    ['an array', { data: [] }],
  ])('accepts no price table from a response with %s', async (_, fields) => {
    respond = json({ ...ENVELOPE, ...fields });
    await expect(provider.priceTable()).rejects.toBeInstanceOf(ProviderOutcomeUnknown);
  });

  it.each([
    ['48.80', '48.80'],
    [48.8, '48.8'],
    ['-3.5', '-3.5'],
  ])('knows the balance of the latest response: %p', async (given, known) => {
    respond = json({ ...ENVELOPE, balance: given, count: 1 });
    await provider.stock('ru', '6');
    expect(provider.spendable()).toBe(known);
  });

  it.each([undefined, null, 'much', '1e3', {}])('accepts a response whose balance is %p', async (given) => {
    respond = json({ ...ENVELOPE, balance: '7.00', count: 1 });
    await provider.stock('ru', '6');
    respond = json({ ...ENVELOPE, balance: given, count: 1 });
    expect([await provider.stock('ru', '6'), provider.spendable()]).toEqual([1, '7.00']);
  });

  it('repeats a catalog read once after too many calls, but no read of reconciliation', async () => {
    for (const status of [429, 503]) {
      urls = [];
      respond = (request, response) =>
        (urls.length === 1 ? json('Too Many', status) : json({ ...ENVELOPE, count: 5 }))(request, response);
      expect(await provider.stock('ru', '6')).toBe(5);
      expect(urls).toHaveLength(2);
      urls = [];
      await expect(provider.proxiesByReference('t', { priority: 'confirmation' })).rejects.toBeInstanceOf(
        ProviderOutcomeUnknown,
      );
      expect(urls).toHaveLength(1);
    }
  });

  function pagesBy(of: (page: number) => readonly unknown[]): void {
    respond = (request, response) => {
      const list = of(Number(new URL(request.url ?? '', 'http://provider.invalid').searchParams.get('page')));
      json({ ...ENVELOPE, list_count: list.length, list })(request, response);
    };
  }

  describe('lists what was bought under an order reference', () => {
    const REFERENCE = 'prs.t.u1.o1x';
    const row = (id: string, descr = REFERENCE) => ({ ...PROXY, id, descr });
    const idsOf = (proxies: readonly { id: string }[]) => proxies.map(({ id }) => id);
    const pages = (...lists: readonly (readonly object[])[]) => pagesBy((page) => lists[page - 1] ?? []);

    it('in one call when the first page is empty', async () => {
      pages();
      expect(await provider.proxiesByReference(REFERENCE)).toEqual([]);
      expect(urls).toHaveLength(1);
    });

    it('in one call when its page is enough', async () => {
      pages([row('11'), row('12')]);
      const isEnough = (found: readonly unknown[]) => found.length === 2;
      expect(idsOf(await provider.proxiesByReference(REFERENCE, { isEnough }))).toEqual(['11', '12']);
      expect(urls).toHaveLength(1);
    });

    it('up to an empty page, because a page of any length may be full', async () => {
      pages([row('11'), row('12')], [row('13')]);
      expect(idsOf(await provider.proxiesByReference(REFERENCE))).toEqual(['11', '12', '13']);
      expect(urls.map((url) => url.replace(/^.*[?]/, ''))).toEqual(
        [1, 2, 3].map((page) => `state=all&descr=${REFERENCE}&page=${page}&limit=1000`),
      );
    });

    it('beyond pages of other order references, when it is there', async () => {
      pages([row('11', 'other'), row('12', `${REFERENCE}0`)], [row('13')]);
      const isEnough = (found: readonly unknown[]) => found.length === 1;
      expect(idsOf(await provider.proxiesByReference(REFERENCE, { isEnough }))).toEqual(['13']);
    });

    it.each<[what: string, ...lists: { id: string }[][]]>([
      ['a row has another order reference', [row('11', 'other')]],
      ['a row of another order reference is beside one of this', [row('11'), row('12', 'other')]],
      ['a row comes twice', [row('11'), row('12')], [row('12')]],
      ['a page comes twice', [row('11'), row('12')], [row('12'), row('11')]],
    ])('unless %s and it is not enough: the outcome is then unknown', async (_, ...lists) => {
      pages(...lists);
      await expect(provider.proxiesByReference(REFERENCE)).rejects.toBeInstanceOf(ProviderOutcomeUnknown);
    });

    it.each<[string, unknown, number]>([
      ['it has the order reference', { ...row('12'), port: 'none' }, 1],
      ['it has another order reference', { ...row('12', 'hand'), port: 'none' }, 0],
      ['it may have any order reference', null, 0],
    ])(
      'if its rows can be read and suffice, although another cannot, when %s',
      async (_, odd, ofReference) => {
        pagesBy((page) => (page === 1 ? [odd, row('11')] : []));
        const isThere = (found: readonly unknown[]) => found.length === 1;
        expect(idsOf(await provider.proxiesByReference(REFERENCE, { isEnough: isThere }))).toEqual(['11']);
        const unreads: number[] = [];
        const isEnough = (_found: unknown, unread: number) => unreads.push(unread) > 1;
        await provider.proxiesByReference(REFERENCE, { isEnough }).catch(() => undefined);
        expect(unreads).toEqual([ofReference]);
        await expect(provider.proxiesByReference(REFERENCE)).rejects.toMatchObject({ found: [{ id: '11' }] });
      },
    );

    it.each([0, 2, '2'])('unless the response counts %p where there is one', async (count) => {
      respond = json({ ...ENVELOPE, list_count: count, list: { 11: row('11') } });
      await expect(provider.proxiesByReference(REFERENCE)).rejects.toBeInstanceOf(ProviderOutcomeUnknown);
    });
  });

  describe('lists all proxies', () => {
    const rows = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...PROXY, id: String(from + at), descr: '' }));

    async function countAll(): Promise<number> {
      let count = 0;
      for await (const { proxies } of provider.allProxies()) count += proxies.length;
      return count;
    }

    it('of a provider with pages of its own length', async () => {
      pagesBy((page) => rows(page * 100, page <= 3 ? 100 : 0));
      expect(await countAll()).toBe(300);
    });

    it('of a provider that repeats its last page', async () => {
      pagesBy((page) => (page === 1 ? rows(0, 100) : rows(100, 30)));
      expect(await countAll()).toBe(130);
    });

    it('beyond a page of rows that cannot be read', async () => {
      const odd = [null, { ...PROXY, descr: 'hand', port: 'none' }];
      pagesBy((page) => (page === 1 ? odd : rows(1, 3 - page)));
      const unread = [];
      for await (const page of provider.allProxies()) {
        unread.push(...page.unread);
        expect(page.proxies).toHaveLength(page.unread.length === 0 ? 1 : 0);
      }
      expect(unread).toEqual([
        { id: null, orderReference: '', fields: [] },
        { id: '11', orderReference: 'hand', fields: ['port'] },
      ]);
      expect(urls).toHaveLength(3);
    });

    it('in one call, which is not retried, when there are more than were requested', async () => {
      pagesBy(() => Array.from({ length: 40_000 }, () => ({ a: 1 })));
      await expect(countAll()).rejects.toThrow('getproxy returned more rows than were requested');
      expect(urls).toHaveLength(1);
    });

    it('unless it only ever returns a full page', async () => {
      pagesBy(() => rows(0, 1000));
      await expect(countAll()).rejects.toBeInstanceOf(ProviderOutcomeUnknown);
    });

    it('and reads a page again that is shorter than its count', async () => {
      respond = (request, response) => {
        const list = urls.length <= 2 ? rows(0, 3) : [];
        json({ ...ENVELOPE, list_count: urls.length === 1 ? 5 : list.length, list })(request, response);
      };
      expect(await countAll()).toBe(3);
      expect(urls).toHaveLength(3);
    });
  });

  it('reads prolongations, prices, stock and countries', async () => {
    respond = json({
      ...ENVELOPE,
      order_id: 9,
      price: '5.51',
      period: 7,
      count: 1,
      list: { 15: { id: 15, date_end: '', unixtime_end: 1500000000 } },
    });
    const { dateEnds } = await provider.prolong({ proxyIds: ['15'], period: 7 }, await permitted());
    expect(dateEnds.get('15')).toEqual(new Date(1500000000_000));
    respond = json({ ...ENVELOPE, price: 1800.5, price_single: 0.6, period: 30, count: 100 });
    expect(await provider.totalPrice({ count: 100, period: 30, version: '6' })).toBe('1800.5');
    respond = json({ ...ENVELOPE, count: '971' });
    expect(await provider.stock('ru', '6')).toBe(971);
    respond = json({ ...ENVELOPE, list: ['RU', 'ua'] });
    expect(await provider.countries('4')).toEqual(['ru', 'ua']);
  });

  it.each([
    [100, 'misconfigured'],
    [105, 'misconfigured'],
    [110, 'misconfigured'],
    [200, 'count'],
    [210, 'period'],
    [220, 'country'],
    [230, 'not-found'],
    [260, 'request'],
    [300, 'out-of-stock'],
    [404, 'not-found'],
    [410, 'period'],
  ])('treats error %i as a refusal: %s', async (errorId, reason) => {
    respond = json({ status: 'no', error_id: errorId, error: 'text' });
    const error = await failureOf(buy());
    expect(error).toBeInstanceOf(ProviderRefused);
    expect(error).toMatchObject({ reason });
  });

  it('treats error 400 as a lack of funds, and requests the balance immediately', async () => {
    respond = (request, response) =>
      json(
        request.url?.includes('/buy/')
          ? { status: 'no', error_id: 400 }
          : { ...ENVELOPE, balance: 27.9, data: {} },
      )(request, response);
    await expect(buy()).rejects.toMatchObject({ name: 'ProviderRefused', reason: 'out-of-funds' });
    expect(() => provider.assertTakesOrders('28.00')).toThrow(ProviderClosed);
    await eventually(() => provider.spendable() === '27.9');
    expect(() => provider.assertTakesOrders('0.01')).not.toThrow();
    expect(urls.map((url) => url.split('/')[3])).toEqual(['buy', 'getprice']);
  });

  it.each<[string, Respond]>([
    ['error 30', json({ status: 'no', error_id: 30, error: 'Unknown error' })],
    ['an undocumented error', json({ status: 'no', error_id: 999 })],
    ['502', json({}, 502)],
    ['a refusal under 500', json({ status: 'no', error_id: 300 }, 500)],
    ['429', json('Too Many Requests', 429)],
    ['a web page', (_, response) => response.end('<html>')],
    ['nothing', (_, response) => response.end()],
    ['a redirect', (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
    ['another currency', json({ ...BOUGHT, currency: 'USD' })],
    ['a price that is not a number', json({ ...BOUGHT, price: 'free' })],
    ['a proxy without a password', json({ ...BOUGHT, list: [{ ...PROXY, pass: undefined }] })],
    ['a reset', (request) => void request.socket.resetAndDestroy()],
    [
      'half a body',
      (_, response) =>
        void response
          .writeHead(200, { 'content-length': 1000 })
          .write('{"status":"yes"', () => response.destroy()),
    ],
    [NO_RESPONSE, () => undefined],
    ['a body over 5 MB', (_, response) => void response.end('x'.repeat(6 * 1024 * 1024))],
  ])('reports an unknown outcome after %s, and does not retry the call', async (what, given) => {
    respond = given;
    const error = await failureOf(buy(Deadline.after(what === NO_RESPONSE ? 500 : 10_000)));
    expect(error).toBeInstanceOf(ProviderOutcomeUnknown);
    expect(urls).toHaveLength(1);
    expect(calls).toMatchObject([{ method: 'buy', outcome: 'unknown' }]);
    expect(JSON.stringify([error, String(error), calls])).not.toContain(API_KEY);
  });

  it.each<[string, Respond]>([
    ['another count', json({ ...BOUGHT, count: 2 })],
    ['more proxies than asked for', json({ ...BOUGHT, list: [PROXY, { ...PROXY, id: '12' }] })],
    ['no proxies', json({ ...BOUGHT, list: [] })],
  ])('reports an unknown outcome when the response has %s', async (_, given) => {
    respond = given;
    await expect(buy()).rejects.toBeInstanceOf(ProviderOutcomeUnknown);
    expect(urls).toHaveLength(1);
  });

  it('reports that nothing was sent when the connection is refused, and gives its permit back', async () => {
    const closed = http.createServer();
    const port = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    const unreachable = await createProvider(port);
    const permission = await permitted(unreachable);
    const giveBack = jest.spyOn(permission.permit, 'giveBack');
    const error = await failureOf(unreachable.buy(ORDER, permission));
    expect(error).toBeInstanceOf(ProviderUnavailable);
    expect(giveBack).toHaveBeenCalledTimes(1);
    expect(JSON.stringify([error, String(error)])).not.toContain(API_KEY);
  });

  it('sends nothing after the deadline', async () => {
    respond = json(BOUGHT);
    await buy();
    expect(await failureOf(buy(Deadline.after(0)))).toBeInstanceOf(ProviderUnavailable);
    expect(urls).toHaveLength(1);
  });

  it('sends nothing when the process was suspended between the call and the socket', async () => {
    respond = json(BOUGHT);
    await buy();
    const late = buy(Deadline.after(20));
    // Like SIGSTOP: no code runs until after the deadline.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    expect(await failureOf(late)).toBeInstanceOf(ProviderUnavailable);
    expect(urls).toHaveLength(1);
  });

  it('sends nothing when the machine was suspended, which only the wall clock shows', async () => {
    respond = json(BOUGHT);
    const late = buy(Deadline.after(60_000));
    const afterwards = new Date(Date.now() + 61_000);
    const clock = jest.spyOn(SystemClock.prototype, 'now').mockReturnValue(afterwards);
    expect(await failureOf(late)).toBeInstanceOf(ProviderUnavailable);
    clock.mockRestore();
    expect(urls).toEqual([]);
  });

  it('gives back a permit that is granted after its call was aborted', async () => {
    const giveBack = jest.fn(() => Promise.resolve());
    const expired = { until: Deadline.after(0), giveBack: () => Promise.resolve() };
    let grant: ((permit: RatePermit) => void) | undefined;
    const transport = new GuardedTransport(
      Deadline.after(10_000),
      expired,
      () => new Promise((resolve) => (grant = resolve)),
    );
    const { port } = server.address() as AddressInfo;
    const call = transport.request({ protocol: 'http:', host: '127.0.0.1', port }, () => undefined);
    const aborted = once(call, 'error');
    call.end();
    await eventually(() => grant !== undefined);
    call.destroy(new Error('aborted'));
    await aborted;
    grant?.({ until: Deadline.after(10_000), giveBack });
    await eventually(() => giveBack.mock.calls.length > 0);
    expect(urls).toEqual([]);
  });

  it('keeps using one connection', async () => {
    respond = json(BOUGHT);
    const ports = new Set<number | undefined>();
    server.on('request', (request: http.IncomingMessage) => ports.add(request.socket.remotePort));
    for (let call = 0; call < 3; call += 1) await buy();
    expect(ports.size).toBe(1);
  });

  it.each<[string, object, string]>([
    ['a list by id', BOUGHT, 'done'],
    ['a list that is an array', { ...BOUGHT, list: [PROXY] }, 'done'],
    ['a list that is an object of its own', { ...BOUGHT, list: PROXY }, 'unknown'],
    ['rows in an unknown place', { ...BOUGHT, more: [{ deep: [PROXY] }] }, 'done'],
    ['unusable rows', { ...BOUGHT, list: { 11: { ...PROXY, host: 7 } } }, 'unknown'],
    ['no envelope', { 11: PROXY }, 'unknown'],
    ['secrets that are not text', { ...BOUGHT, user: ['5svBNZ'], pass: { text: 'iagn2d' } }, 'done'],
  ])('keeps all but logins and passwords in the record of a call: %s', async (_, body, outcome) => {
    respond = json(body);
    const result = await buy().catch(() => undefined);
    const [record] = calls;
    const isSecret = (name: string) => name === 'user' || name === 'pass';
    const stored: unknown = JSON.parse(
      JSON.stringify(body, (name: string, value: unknown) => (isSecret(name) ? undefined : value)),
    );
    expect(record?.outcome).toBe(outcome);
    expect(JSON.parse(JSON.stringify(record?.response))).toEqual(stored);
    expect(inspect(record, { depth: null })).not.toMatch(/iagn2d|5svBNZ/);
    const delivered = [expect.objectContaining({ login: '5svBNZ', password: 'iagn2d' })];
    expect(result?.proxies).toEqual(outcome === 'done' ? delivered : undefined);
  });
});
