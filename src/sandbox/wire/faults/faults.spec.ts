import { setTimeout as pause } from 'node:timers/promises';
import type { FaultSpec } from '../..';
import { eventually } from '../../../../test/support/built-service';
import { sandboxForAllTests } from '../../../../test/support/sandbox';

const { sandbox, client, control } = sandboxForAllTests();

afterEach(() => control.resetFaults());

const buy = (descr: string, count = 1) =>
  client.send(`buy?count=${count}&period=7&country=nl&version=4&descr=${descr}`);

async function soldUnder(descr: string): Promise<number> {
  const { sales } = await control.getState();
  return sales.filter((sale) => sale.descr === descr).reduce((sum, sale) => sum + sale.proxyIds.length, 0);
}

const listedUnder = async (descr: string): Promise<number> =>
  (await client.call<{ list_count: number }>(`getproxy?descr=${descr}`)).list_count;

describe('a connection that closes without a response', () => {
  test.each<[Omit<FaultSpec, 'method'>, number]>([
    [{ kind: 'response-lost' }, 1],
    [{ kind: 'response-lost', effect: false }, 0],
    [{ kind: 'reset' }, 0],
    [{ kind: 'reset', effect: true }, 1],
    [{ kind: 'truncated-json', disconnect: true }, 1],
  ])('%j: sold %i', async (fault, sold) => {
    const descr = `ends:${JSON.stringify(fault).replaceAll(/\W/g, '')}`.slice(0, 50);
    await control.addFault({ method: 'buy', ...fault });

    await expect(buy(descr)).rejects.toThrow(/socket hang up|ECONNRESET|aborted/);
    await expect(soldUnder(descr)).resolves.toBe(sold);
  });
});

describe('an unexpected response', () => {
  test.each<[Omit<FaultSpec, 'method'>, number, number, RegExp]>([
    [{ kind: 'http-status', status: 502 }, 502, 0, /502/],
    [{ kind: 'http-status', status: 503, effect: true }, 503, 1, /503/],
    [{ kind: 'http-status', status: 429 }, 429, 0, /429/],
    [{ kind: 'error' }, 200, 0, /"error_id":30/],
    [{ kind: 'error', effect: true }, 200, 1, /"error_id":30/],
    [{ kind: 'error', errorId: 400 }, 200, 0, /"error_id":400,"error":"Error no money"/],
    [{ kind: 'html' }, 200, 0, /^<!DOCTYPE html>/],
    [{ kind: 'html', effect: true }, 200, 1, /^<!DOCTYPE html>/],
    [{ kind: 'truncated-json' }, 200, 1, /^\{"status":"yes".*[^}]$/],
    [{ kind: 'wrong-currency' }, 200, 1, /"currency":"USD"/],
  ])('%j: status %i, sold %i', async (fault, status, sold, text) => {
    const descr = `odd:${JSON.stringify(fault).replaceAll(/\W/g, '')}`.slice(0, 50);
    await control.addFault({ method: 'buy', ...fault });

    const response = await buy(descr);

    expect(response).toMatchObject({ status, text: expect.stringMatching(text) });
    await expect(soldUnder(descr)).resolves.toBe(sold);
  });
});

describe('a slow response', () => {
  test.each<[boolean, number]>([
    [true, 1],
    [false, 0],
  ])('hang with effect %p: sold %i, and the client times out', async (effect, sold) => {
    const descr = `hang:${effect}`;
    await control.addFault({ method: 'buy', kind: 'hang', effect });
    const query = `count=1&period=7&country=nl&version=4&descr=${descr}`;
    const url = `${sandbox.baseUrl}/api/${sandbox.apiKey}/buy?${query}`;
    const caller = new AbortController();
    const response = fetch(url, { signal: caller.signal });
    await eventually(async () => (await control.getCalls('buy')).at(-1)?.parameters['descr'] === descr);
    await expect(Promise.race([response, pause(100, 'nothing')])).resolves.toBe('nothing');
    caller.abort();
    await expect(response).rejects.toThrow(/aborted/);
    await expect(soldUnder(descr)).resolves.toBe(sold);
  });

  test('late delays before and after the effect', async () => {
    await control.addFault({ method: 'buy', kind: 'late', beforeMs: 100, afterMs: 100 });
    const startedAt = performance.now();

    await buy('late');

    expect(performance.now() - startedAt).toBeGreaterThan(190);
  });

  test('a method has a latency until it is replaced', async () => {
    await control.setLatencies({ buy: { minMs: 100, maxMs: 120 } });
    const startedAt = performance.now();
    await buy('latency');
    await control.setLatencies({});

    expect(performance.now() - startedAt).toBeGreaterThan(95);
  });

  test('drip eventually sends the whole response', async () => {
    await control.addFault({ method: 'any', kind: 'drip', bytes: 20, intervalMs: 5 });

    await expect(client.call('')).resolves.toMatchObject({ status: 'yes', currency: 'RUB' });
  });
});

describe('a response that misleads', () => {
  test('a short list confirms the count, but delivers and charges fewer', async () => {
    await control.addFault({ method: 'buy', kind: 'short-list', shortBy: 2 });

    const { text } = await buy('short', 5);

    expect(JSON.parse(text)).toMatchObject({ status: 'yes', count: 5, price: 84 });
    await expect(listedUnder('short')).resolves.toBe(3);
  });

  test('a short list may be empty', async () => {
    await control.addFault({ method: 'buy', kind: 'short-list', shortBy: 5 });

    expect(JSON.parse((await buy('none', 2)).text)).toMatchObject({
      status: 'yes',
      count: 2,
      price: 0,
      list: [],
    });
  });

  test('a short prolongation prolongs and charges fewer proxies', async () => {
    await buy('short-prolong', 2);
    const state = await control.getState();
    const ids = state.sales.find(({ descr }) => descr === 'short-prolong')?.proxyIds.join(',');
    await control.addFault({ method: 'prolong', kind: 'short-list' });

    await expect(client.call(`prolong?period=7&ids=${ids}`)).resolves.toMatchObject({ count: 1, price: 28 });
  });

  test('a late listing hides a purchase for a time on the provider’s clock', async () => {
    await control.addFault({ method: 'buy', kind: 'response-lost', hiddenForMs: 60_000 });
    await expect(buy('hidden')).rejects.toThrow('socket hang up');

    await expect(soldUnder('hidden')).resolves.toBe(1);
    await expect(listedUnder('hidden')).resolves.toBe(0);
    await control.setClockOffset(60_001);
    await expect(listedUnder('hidden')).resolves.toBe(1);
    await control.setClockOffset(0);
  });

  test('a late listing shows the earlier end of a prolonged proxy meanwhile', async () => {
    await buy('hidden-date');
    const endOf = async () => {
      const { list } = await client.call<{ list: Array<{ id: string; unixtime_end: number }> }>(
        'getproxy?nokey&descr=hidden-date',
      );
      return { id: list[0]?.id, end: list[0]?.unixtime_end ?? 0 };
    };
    const before = await endOf();
    await control.addFault({ method: 'prolong', kind: 'late-listing', hiddenForMs: 60_000 });

    await client.call(`prolong?period=7&ids=${before.id}`);

    await expect(endOf()).resolves.toEqual(before);
    await control.setClockOffset(60_001);
    await expect(endOf()).resolves.toEqual({ id: before.id, end: before.end + 7 * 86_400 });
    await control.setClockOffset(0);
  });
});

async function hits(): Promise<boolean[]> {
  await control.addFault({ method: 'account', kind: 'error', times: null, probability: 0.5, seed: 7 });
  const hit: boolean[] = [];
  for (let call = 0; call < 20; call += 1) hit.push((await client.send('')).text.includes('"no"'));
  await control.resetFaults();
  return hit;
}

describe('adding a fault', () => {
  test('hits only matching requests, and only as often as specified', async () => {
    await control.addFault({ method: 'buy', kind: 'error', match: { descr: 'hit:*' }, times: 2 });

    const responses = [await buy('spared'), await buy('hit:1'), await buy('hit:2'), await buy('hit:3')];

    expect(responses.map(({ text }) => text.includes('"error_id":30'))).toEqual([false, true, true, false]);
    await expect(control.getFaults()).resolves.toMatchObject([{ hits: 2 }]);
    const calls = await control.getCalls('buy');
    expect(calls.slice(-4).map(({ fault, errorId }) => [fault !== null, errorId])).toEqual([
      [false, null],
      [true, 30],
      [true, 30],
      [false, null],
    ]);
  });

  test('hits the same requests again with the same probability and seed', async () => {
    const first = await hits();

    expect(new Set(first).size).toBe(2);
    await expect(hits()).resolves.toEqual(first);
  });

  test.each([
    ['kind', { method: 'buy', kind: 'flood' }],
    ['method', { method: 'sell', kind: 'hang' }],
    ['tmes', { method: 'buy', kind: 'hang', tmes: 3 }],
    ['always has its effect', { method: 'buy', kind: 'drip', effect: false }],
    ['errorId', { method: 'buy', kind: 'error', errorId: 31 }],
  ])('is refused with an error that names the %s', async (words, order) => {
    const response = await fetch(`${sandbox.controlUrl}/faults`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sandbox.controlSecret}` },
      body: JSON.stringify(order),
    });

    expect(response.status).toBe(400);
    await expect(response.text()).resolves.toContain(words);
  });
});
