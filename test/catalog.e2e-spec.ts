import { requestId } from '../src/common';
import type { FaultSpec } from '../src/sandbox';
import { createApiClient, outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { withReplica } from './support/replica';
import { startTestService } from './support/test-service';

type Version = '6' | '4' | '4s';
const VERSIONS = ['6', '4', '4s'] as const satisfies Version[];
const WIRE_VERSIONS = { '6': '6', '4': '4', '4s': '3' } as const;
const UNAVAILABLE = { detail: 'Service temporarily unavailable' };

// The clock advances. A short timeout ends hanging calls soon after their test.
const service = forAllTests(() => startTestService({ environment: { PROVIDER_TIMEOUT_MS: '2000' } }));
const user = forAllTests(() => service.createUser());
beforeEach(async () => {
  // Values cached by the previous test become too old to be served.
  service.clock.advanceDays(2);
  await service.control.resetFaults();
  await service.control.clearCalls();
});

const countries = (version?: Version) =>
  user.api.GET('/countries', { params: { query: version === undefined ? {} : { version } } });
const stock = (country: string, version?: Version) =>
  user.api.GET('/countries/{country}/count', {
    params: { path: { country }, query: version ? { version } : {} },
  });
const price = (count: number, period: number, version?: Version) =>
  user.api.GET('/price', { params: { query: { count, period, ...(version && { version }) } } });
const failProvider = (fault: FaultSpec = { method: 'any', kind: 'http-status', status: 500 }) =>
  service.control.addFault({ times: null, ...fault });
const callsTo = async (method: string) =>
  (await service.control.getCalls(method)).map(({ parameters }) => parameters);

describe('GET /countries', () => {
  it.each(VERSIONS)('lists what the provider sells of version %s, sorted', async (version) => {
    const sold = await service.wire.call<{ list: string[] }>(`getcountry/?version=${WIRE_VERSIONS[version]}`);
    const { data, response } = await countries(version);
    expect([response.status, data]).toEqual([200, [...sold.list].sort()]);
    expect(data?.length).toBeGreaterThan(5);
  });

  it('defaults to version 6', async () => {
    expect((await countries()).data).toEqual((await countries('6')).data);
  });

  it('uses the last value of a repeated parameter', async () => {
    const response = await fetch(`${service.baseUrl}/countries?version=5&version=4s`, {
      headers: { Authorization: `Bearer ${user.token}` },
    });
    expect(await response.json()).toEqual((await countries('4s')).data);
  });
});

describe('GET /countries/{country}/count', () => {
  it.each(VERSIONS)('gives the stock of version %s', async (version) => {
    await service.control.setStock(WIRE_VERSIONS[version], 'de', 971);
    expect(outcomeOf(await stock('de', version))).toEqual([200, { country: 'de', version, available: 971 }]);
  });

  it('defaults to version 6', async () => {
    await service.control.setStock('6', 'fr', 17);
    expect((await stock('fr')).data).toEqual({ country: 'fr', version: '6', available: 17 });
  });

  it('accepts the code in any case, and responds in lower case', async () => {
    await service.control.setStock('6', 'nl', 5);
    expect((await stock('NL')).data).toEqual({ country: 'nl', version: '6', available: 5 });
    expect((await stock('Nl')).data).toEqual({ country: 'nl', version: '6', available: 5 });
  });

  it.each(['xx', 'russia', '0', ' ru', 'ru\u0000', '\u{1f4a9}'])(
    'gives 0 for the unknown country %j',
    async (country) => {
      const { data, response } = await stock(country);
      expect([response.status, data?.available]).toEqual([200, 0]);
    },
  );

  it('gives 0 for a country that is sold in another version only', async () => {
    expect((await stock('jp', '6')).data?.available).toBeGreaterThan(0);
    expect((await stock('jp', '4s')).data?.available).toBe(0);
  });

  it('gives 0 when everything is sold', async () => {
    await service.control.setStock('6', 'pl', 0);
    expect((await stock('pl')).data?.available).toBe(0);
  });

  it('subtracts a purchase at once', async () => {
    await service.control.setStock('6', 'it', 10);
    expect((await stock('it')).data?.available).toBe(10);
    await user.buy({ country: 'it', period: 3, count: 4 });
    expect((await stock('it')).data?.available).toBe(6);
  });
});

describe('GET /price', () => {
  it.each<[count: number, period: number, version: Version | undefined, single: string, final: string]>([
    // The provider charges 2.95, 5.51, 20.90; 28.00, 1290.00; 11.50. The markup is 20 %.
    [1, 3, '6', '3.54', '3.54'],
    [1, 3, undefined, '3.54', '3.54'],
    [1, 7, '6', '6.62', '6.62'],
    [3, 7, '6', '6.62', '19.86'],
    [10, 30, '6', '25.08', '250.80'],
    [1000, 30, '6', '25.08', '25080.00'],
    [1, 7, '4', '33.60', '33.60'],
    [1000, 365, '4', '1548.00', '1548000.00'],
    [7, 7, '4s', '13.80', '96.60'],
  ])(
    'quotes %i for %i days of version %s at %s each, %s in all',
    async (count, period, version, single, final) => {
      expect(outcomeOf(await price(count, period, version))).toEqual([
        200,
        { price_final: final, price_single: single, period, count, currency: 'RUB' },
      ]);
    },
  );

  it.each([
    ['0.01', '0.02'],
    ['0.05', '0.06'],
    ['0.06', '0.08'],
    ['33.33', '40.00'],
  ])(
    'rounds the price of one proxy at %s up to %s, and the total is an exact multiple of it',
    async (provider, single) => {
      await service.control.setPrice('6', 60, provider);
      const { data } = await price(100, 60);
      expect(data?.price_single).toBe(single);
      expect(data?.price_final).toBe((Number(single) * 100).toFixed(2));
    },
  );

  it('adds the MARKUP_PERCENT', async () => {
    await withReplica(service, { pricing: { markupPercent: '12.5' } }, async (replica) => {
      const api = createApiClient(replica.baseUrl, user.token);
      const { data } = await api.GET('/price', { params: { query: { count: 3, period: 7 } } });
      expect(data).toMatchObject({ price_single: '6.20', price_final: '18.60' });
    });
  });

  it.each<[period: number, version: Version | undefined, detail: string]>([
    [1, undefined, 'Minimum rental period for IPv6 is 3 days'],
    [2, '6', 'Minimum rental period for IPv6 is 3 days'],
    [6, '4', 'Minimum rental period for IPv4 is 7 days'],
    [6, '4s', 'Minimum rental period for IPv4 shared is 7 days'],
    [4, '6', 'Unsupported rental period'],
    [3, '4', 'Minimum rental period for IPv4 is 7 days'],
    [366, '4s', 'Unsupported rental period'],
    [3650, '6', 'Unsupported rental period'],
    [3651, '6', 'Unsupported rental period'],
    [9_999_999_999, '6', 'Unsupported rental period'],
  ])('refuses %i days of version %s as a purchase would: %s', async (period, version, detail) => {
    expect(outcomeOf(await price(1, period, version))).toEqual([400, { detail }]);
    expect(outcomeOf(await user.buy({ period, version: version ?? '6' }))).toEqual([400, { detail }]);
  });

  it('refuses a period that the provider no longer sells', async () => {
    await service.control.setPrice('6', 90, null);
    expect(outcomeOf(await price(1, 90))).toEqual([400, { detail: 'Unsupported rental period' }]);
  });

  it('refuses a period of a country that the provider priced and then refused to sell', async () => {
    await service.control.setPrice('6', 75, '50.00');
    expect((await price(1, 75)).response.status).toBe(200);
    const order = (country = 'ru') => user.buy({ country, period: 75 });
    const unsupported = [400, { detail: 'Unsupported rental period' }];
    for (const country of ['ru', 'us', 'de']) {
      // Other countries sell the period that one country lacks, so the period has a quote.
      expect([(await price(1, 75)).response.status, (await order('nl')).response.status]).toEqual([200, 200]);
      await service.control.clearCalls();
      await service.control.addFault({ method: 'buy', kind: 'error', errorId: 210 });
      expect([outcomeOf(await order(country)), outcomeOf(await order(country))]).toEqual([
        unsupported,
        unsupported,
      ]);
      expect(await callsTo('buy')).toHaveLength(1);
    }
    expect([outcomeOf(await price(1, 75)), outcomeOf(await price(3, 75))]).toEqual([
      unsupported,
      unsupported,
    ]);
    expect((await price(1, 75, '4')).error).toEqual({ detail: 'Unsupported rental period' });
    expect((await price(1, 60)).response.status).toBe(200);

    service.clock.advanceSeconds(600);
    expect([(await price(1, 75)).response.status, (await order()).response.status]).toEqual([200, 200]);
  });

  it('never asks the provider for a period beyond all bounds', async () => {
    await price(1, 3651);
    await price(1, 2);
    expect(await callsTo('getprice')).toEqual([]);
  });
});

describe('The catalog cache', () => {
  it.each(VERSIONS)('asks the provider by its own number of the version: %s', async (version) => {
    const wireVersion = WIRE_VERSIONS[version];
    await countries(version);
    await stock('US', version);
    await price(2, 30, version);
    expect(await callsTo('getcountry')).toEqual([{ version: wireVersion }]);
    expect(await callsTo('getcount')).toEqual([{ country: 'us', version: wireVersion }]);
    expect(await callsTo('getprice')).toEqual([{}]);
  });

  it('requests the exact price only of what the table lacks', async () => {
    await price(1, 30);
    await service.control.setPrice('6', 45, '10.01');
    expect((await price(3, 45)).data?.price_final).toBe('36.06');
    expect((await price(3, 45)).data?.price_final).toBe('36.06');
    expect((await price(3, 30)).data?.price_final).toBe('75.24');
    expect(await callsTo('getprice')).toEqual([{}, { count: '3', period: '45', version: '6' }]);
  });

  it.each([
    '/countries?version=4',
    '/countries/ru/count',
    '/price?count=3&period=30',
    '/price?count=1&period=7&version=4',
  ])('serves %s with one statement, which looks up the token', async (path) => {
    const request = (id: string) =>
      sendRaw(service.baseUrl, { path, token: user.token, headers: { 'x-request-id': id } });
    const first = await request('first');
    const sent: string[] = [];
    const log = jest.spyOn(service.dataSource.logger, 'logQuery').mockImplementation((statement) => {
      // Jobs, and work left by the first request, send statements too.
      if (requestId() === 'second') sent.push(statement);
    });
    const second = await request('second');
    log.mockRestore();
    expect(second).toMatchObject({ status: 200, text: first.text });
    expect(sent).toEqual([expect.stringContaining('FROM api_tokens')]);
  });

  it('requests the countries again after a minute, also for stock that is younger', async () => {
    await countries('4');
    service.clock.advanceSeconds(30);
    await stock('us', '4');
    await service.control.clearCalls();
    service.clock.advanceSeconds(31);
    expect((await stock('us', '4')).response.status).toBe(200);
    expect(await callsTo('getcountry')).not.toEqual([]);
  });

  it('remembers which periods the provider does not sell', async () => {
    await price(2, 11);
    await price(2, 11);
    expect((await price(2, 11)).error).toEqual({ detail: 'Unsupported rental period' });
    expect(await callsTo('getprice')).toEqual([{}, { count: '2', period: '11', version: '6' }]);
  });

  it('does not request a country that is not on sale', async () => {
    await stock('xx');
    expect(await callsTo('getcount')).toEqual([]);
  });

  it('serves a value for a minute, and no longer', async () => {
    await service.control.setStock('6', 'se', 100);
    await service.control.setPrice('6', 14, '10.00');
    const both = async () => [(await stock('se')).data?.available, (await price(1, 14)).data?.price_final];
    expect(await both()).toEqual([100, '12.00']);
    await service.control.setStock('6', 'se', 50);
    await service.control.setPrice('6', 14, '20.00');
    // Later, a background refresh could begin.
    service.clock.advanceSeconds(39);
    expect(await both()).toEqual([100, '12.00']);
    service.clock.advanceSeconds(21);
    expect(await both()).toEqual([50, '24.00']);
  });

  it.each<[string, FaultSpec]>([
    ['fails', { method: 'any', kind: 'http-status', status: 500 }],
    ['responds with 429', { method: 'any', kind: 'http-status', status: 429 }],
    ['rejects the key', { method: 'any', kind: 'error', errorId: 100 }],
    ['responds with error 30', { method: 'any', kind: 'error', errorId: 30 }],
    ['responds with a web page', { method: 'any', kind: 'html' }],
    ['returns half of its JSON', { method: 'any', kind: 'truncated-json' }],
    ['responds in another currency', { method: 'any', kind: 'wrong-currency' }],
    ['resets the connection', { method: 'any', kind: 'reset' }],
    ['does not respond', { method: 'any', kind: 'hang' }],
  ])('keeps serving while the provider %s', async (_, fault) => {
    const all = async () => {
      const responses = await Promise.all([countries('4'), stock('de', '4'), price(1, 30, '4')]);
      return responses.map(({ data }) => data);
    };
    // The previous test's breakers close with their next probe.
    const before = await eventually(async () => {
      const known = await all();
      return !known.includes(undefined) && known;
    });
    service.clock.advanceSeconds(3600);
    await failProvider(fault);
    expect(await all()).toEqual(before);
  });

  it('serves for a day without the provider, and no longer', async () => {
    const { data: before } = await countries();
    await failProvider();
    service.clock.advanceSeconds(24 * 3600 - 60);
    expect((await countries()).data).toEqual(before);
    service.clock.advanceSeconds(60);
    expect(outcomeOf(await countries())).toEqual([503, UNAVAILABLE]);
  });

  it('has nothing to serve that was never requested', async () => {
    await failProvider();
    for (const result of [await countries(), await stock('ru'), await price(1, 30)]) {
      expect(outcomeOf(result)).toEqual([503, UNAVAILABLE]);
    }
  });

  it('recovers as soon as the provider responds', async () => {
    await failProvider();
    expect((await countries()).response.status).toBe(503);
    await service.control.resetFaults();
    expect((await countries()).response.status).toBe(200);
  });
});
