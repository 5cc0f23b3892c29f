import { CatalogService, NotEnoughProxies } from '../src/catalog';
import { createApiClient, outcomeOf } from './support/api-client';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { withReplica } from './support/replica';
import { checkNow } from './support/settlement-delay';
import { sharedTestService, type TestUser } from './support/test-service';

const ORDER = { country: 'ru', period: 30, count: 2, version: '6' as const };

describe('Idempotency-Key', () => {
  const service = forAllTests(sharedTestService);
  const user = forEachTest(() => service.createUser());
  afterEach(() => service.control.resetFaults());
  beforeClosing(() => service.audit({ withProvider: true }));

  const buy = (key: string, order = ORDER, by: TestUser = user) => by.buy(order, key);

  const sold = async (): Promise<number> =>
    (await service.control.getState()).sales.filter(({ descr }) => descr.includes(`.u${user.id}.`)).length;

  it('replays the first response and buys once', async () => {
    const first = await buy('a');
    const second = await buy('a');
    expect([first.response.status, first.response.headers.get('Idempotency-Replayed')]).toEqual([200, null]);
    expect([second.response.headers.get('Idempotency-Replayed'), second.data]).toEqual(['true', first.data]);
    expect(await sold()).toBe(1);
  });

  it('returns the same body after the proxies were prolonged', async () => {
    const first = await buy('a');
    const proxyId = first.data?.proxies[0]?.id ?? '';
    const prolong = (key: string) => user.prolong(proxyId, { key });
    const countProlongations = async () => (await service.control.getState()).prolongations.length;
    const before = await countProlongations();
    const prolonged = await prolong('b');
    await prolong('c');
    expect([(await buy('a')).data, (await prolong('b')).data]).toEqual([first.data, prolonged.data]);
    expect(await countProlongations()).toBe(before + 2);
  });

  it('treats a quoted key as equal to an unquoted one, and ignores the case of the country', async () => {
    const first = await buy('quoted');
    expect((await buy('"quoted"', { ...ORDER, country: 'RU' })).data).toEqual(first.data);
  });

  it('belongs to one user', async () => {
    const first = await buy('mine');
    const second = await buy('mine', ORDER, await service.createUser());
    expect(second.response.headers.get('Idempotency-Replayed')).toBeNull();
    expect(second.data?.order_id).not.toBe(first.data?.order_id);
  });

  it('refuses the same key with another request', async () => {
    await buy('k');
    expect(outcomeOf(await buy('k', { ...ORDER, count: 3 }))).toEqual([
      422,
      {
        detail: [
          {
            type: 'idempotency_key_reused',
            loc: ['header', 'Idempotency-Key'],
            msg: expect.any(String),
            input: 'k',
          },
        ],
      },
    ]);
  });

  it.each(['""', 'two words', 'k'.repeat(256), '\u00e9'])('refuses the malformed key %p', async (key) => {
    expect(outcomeOf(await buy(key))).toMatchObject([
      422,
      { detail: [{ type: 'idempotency_key_invalid', loc: ['header', 'Idempotency-Key'] }] },
    ]);
    expect(await sold()).toBe(0);
  });

  it('returns 409 while the first request is under way', async () => {
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const first = buy('busy');
    await service.control.untilGateReached(gate);
    const second = await buy('busy');
    await service.control.openGate(gate);
    expect(outcomeOf(second)).toEqual([
      409,
      { detail: 'A request with this Idempotency-Key is in progress' },
    ]);
    expect((await first).response.status).toBe(200);
  });

  it('replays the response to a retry for which the first request left no stock', async () => {
    let first: Awaited<ReturnType<typeof buy>> | undefined;
    // The client gives up on the first request, which ends while the retry reads the stock.
    jest.spyOn(service.app.get(CatalogService), 'assertStock').mockImplementationOnce(async () => {
      first = await buy('retried');
      throw new NotEnoughProxies();
    });
    const retry = await buy('retried');
    expect([first?.response.status, retry.data]).toEqual([200, first?.data]);
    expect([retry.response.headers.get('Idempotency-Replayed'), await sold()]).toEqual(['true', 1]);
  });

  it('can be used again after a refusal', async () => {
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 400 });
    const refused = await buy('again');
    const bought = await buy('again');
    expect(outcomeOf(refused)).toEqual([503, { detail: 'Service temporarily unavailable' }]);
    expect(bought.response.status).toBe(200);
    expect(bought.response.headers.get('Idempotency-Replayed')).toBeNull();
  });

  it('refers to an order that is being confirmed, then returns its outcome', async () => {
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await service.control.addFault({ method: 'getproxy', kind: 'response-lost', times: null });
    const lost = await buy('lost');
    expect(outcomeOf(lost)).toEqual([
      503,
      { detail: expect.stringMatching(/^Service temporarily unavailable: order \d+ is being confirmed$/) },
    ]);
    expect((await buy('lost')).error).toEqual(lost.error);
    await service.control.resetFaults();
    await checkNow(service);
    await service.untilSettled();
    const replayed = await buy('lost');
    expect(replayed.response.status).toBe(200);
    expect(replayed.response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(replayed.data?.proxies).toHaveLength(2);
    expect(await sold()).toBe(1);
  });
});

describe('A key of one kind of request', () => {
  const service = forAllTests(sharedTestService);
  const user = forEachTest(() => service.createUser());
  afterEach(() => service.control.resetFaults());
  beforeClosing(() => service.audit({ withProvider: true }));

  const withKey = (key: string) => ({ header: { 'Idempotency-Key': key } });

  const kinds = {
    purchase: (api: TestUser['api'], key: string) =>
      api.POST('/proxies/buy', { params: withKey(key), body: { country: 'ru', period: 30 } }),
    prolongation: (api: TestUser['api'], key: string, proxyId: string) =>
      api.POST('/proxies/{proxy_id}/prolong', {
        params: { ...withKey(key), path: { proxy_id: proxyId } },
        body: { period: 30 },
      }),
    bulk: (api: TestUser['api'], key: string, proxyId: string) =>
      api.POST('/proxies/prolong', { params: withKey(key), body: { proxy_ids: [proxyId], period: 30 } }),
  };
  type Kind = keyof typeof kinds;
  const REUSED = [422, { detail: [{ type: 'idempotency_key_reused' }] }];
  const buyProxies = async (count: number): Promise<string[]> =>
    (await user.buy({ count })).data?.proxies.map(({ id }) => id) ?? [];

  const entries = (): Promise<unknown[]> =>
    service.dataSource.query('SELECT seq, kind FROM ledger_entries WHERE user_id = $1 ORDER BY seq', [
      user.id,
    ]);

  const PAIRS = Object.keys(kinds).flatMap((first) =>
    Object.keys(kinds)
      .filter((second) => second !== first)
      .map((second) => [first, second]),
  ) as [Kind, Kind][];

  it.each(PAIRS)('which is a %s is refused for a %s, which charges nothing', async (first, second) => {
    const ids = await buyProxies(2);
    expect((await kinds[first](user.api, 'one', ids[0] ?? '')).response.status).toBe(200);
    const before = await entries();
    expect(outcomeOf(await kinds[second](user.api, 'one', ids[1] ?? ''))).toMatchObject(REUSED);
    expect(await entries()).toEqual(before);
    expect((await kinds[first](user.api, 'one', ids[0] ?? '')).response.status).toBe(200);
  });

  it('which is a bulk is refused in a dry run as in a real request', async () => {
    const [id = ''] = await buyProxies(1);
    await kinds.bulk(user.api, 'bulk', id);
    const bought = await user.api.POST('/proxies/buy', {
      params: withKey('bulk'),
      body: { country: 'ru', period: 30, dry_run: true },
    });
    const prolonged = await user.api.POST('/proxies/{proxy_id}/prolong', {
      params: { ...withKey('bulk'), path: { proxy_id: id } },
      body: { period: 30, dry_run: true },
    });
    for (const refused of [bought, prolonged]) expect(outcomeOf(refused)).toMatchObject(REUSED);
  });

  it('which is a bulk that a refusal left without orders stays the key of that bulk', async () => {
    const ids = await buyProxies(1);
    await service.control.addFault({ method: 'prolong', kind: 'error', errorId: 400 });
    expect((await kinds.bulk(user.api, 'empty', ids[0] ?? '')).data?.totals.prolonged).toBe(0);
    expect((await kinds.purchase(user.api, 'empty')).response.status).toBe(422);
    expect((await kinds.bulk(user.api, 'empty', ids[0] ?? '')).data?.totals.prolonged).toBe(1);
  });

  it('which has both a bulk and an order, from a version before, returns each of them', async () => {
    const [id = ''] = await buyProxies(1);
    const bought = await kinds.purchase(user.api, 'older');
    const prolonged = await kinds.bulk(user.api, 'both', id);
    await service.owner.query(
      `UPDATE orders SET idempotency_key = 'both' WHERE user_id = $1 AND idempotency_key = 'older'`,
      [user.id],
    );
    const before = await entries();
    expect((await kinds.purchase(user.api, 'both')).data).toEqual(bought.data);
    expect((await kinds.bulk(user.api, 'both', id)).data).toEqual(prolonged.data);
    expect((await kinds.prolongation(user.api, 'both', id)).response.status).toBe(422);
    expect(await entries()).toEqual(before);
  });

  it('is executed as one of two that come at once to two replicas', async () => {
    await withReplica(service, {}, async (replica) => {
      const count = 12;
      const ids = await buyProxies(2 * count);
      const other = createApiClient(replica.baseUrl, user.token);
      const charged = await Promise.all(
        Array.from({ length: count }, async (_, n) => {
          const single = n % 2 === 0 ? kinds.purchase : kinds.prolongation;
          const apis = n % 4 < 2 ? [user.api, other] : [other, user.api];
          const [bulk, alone] = await Promise.all([
            kinds.bulk(apis[0] as TestUser['api'], `pair-${n}`, ids[2 * n] ?? ''),
            single(apis[1] as TestUser['api'], `pair-${n}`, ids[2 * n + 1] ?? ''),
          ]);
          expect([200, 409, 422]).toContain(bulk.response.status);
          expect([200, 409, 422]).toContain(alone.response.status);
          return (bulk.data?.totals.prolonged ?? 0) + Number(alone.response.status === 200);
        }),
      );
      expect(charged).toEqual(Array.from({ length: count }, () => 1));
    });
  });
});
