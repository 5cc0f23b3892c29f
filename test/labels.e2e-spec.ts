import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { type RawResponse, sendRaw } from './support/raw-http';
import { withReplica } from './support/replica';
import { unauditedTestService, type TestUser } from './support/test-service';

interface Details {
  readonly id: string;
  readonly descr: string | null;
  readonly tags: readonly string[];
  readonly order_id: number;
}

const NOT_FOUND = '{"detail":"Proxy not found","code":"proxy-not-found"}';
const service = forAllTests(unauditedTestService);
const user = forEachTest(() => service.createUser());
const insert = (count: number, of: TestUser = user) => insertProxies(service.dataSource, of.id, count);
const get = (path: string): Promise<RawResponse> => sendRaw(service.baseUrl, { path, token: user.token });
const patch = (path: string, body: object): Promise<RawResponse> =>
  sendRaw(service.baseUrl, { method: 'PATCH', path, token: user.token, body: JSON.stringify(body) });
const details = async (id: number | string): Promise<Details> =>
  (await get(`/proxies/${id}`)).json() as Details;

describe('GET /proxies/{proxy_id}', () => {
  it('has what lists have, the tags and the order', async () => {
    const { data } = await user.buy();
    const [proxy] = data?.proxies ?? [];
    expect((await get(`/proxies/${proxy?.id}`)).json()).toEqual({
      ...proxy,
      tags: [],
      order_id: data?.order_id,
    });
  });

  it.each(['999999999', '0', 'x', '1e3', '%00', '01'])('is 404 for %s', async (id) => {
    const response = await get(`/proxies/${id}`);
    expect([response.status, response.text]).toEqual([404, NOT_FOUND]);
  });

  it('is 404 for another user’s proxy, and so are its history and its label', async () => {
    const [id = 0] = await insert(1, await service.createUser());
    for (const response of [
      await get(`/proxies/${id}`),
      await get(`/proxies/${id}/history`),
      await patch(`/proxies/${id}`, { descr: 'mine now' }),
    ]) {
      expect([response.status, response.text]).toEqual([404, NOT_FOUND]);
    }
  });
});

describe('PATCH /proxies/{proxy_id}', () => {
  it('sets the label and the tags, and leaves what it does not name', async () => {
    const [id = 0] = await insert(1);
    const changed = await patch(`/proxies/${id}`, { descr: ' Scraper №1 ', tags: ['B', 'a b', 'b '] });
    expect([changed.status, changed.json()]).toEqual([200, await details(id)]);
    expect(changed.json()).toMatchObject({ id: String(id), descr: 'Scraper №1', tags: ['a b', 'b'] });
    expect((await patch(`/proxies/${id}`, {})).json()).toMatchObject({ descr: 'Scraper №1' });
    expect((await patch(`/proxies/${id}`, { tags: [] })).json()).toMatchObject({
      descr: 'Scraper №1',
      tags: [],
    });
    await patch(`/proxies/${id}`, { tags: ['c'] });
    expect((await patch(`/proxies/${id}`, { descr: null, tags: null })).json()).toMatchObject({
      descr: null,
      tags: [],
    });
  });

  it.each([
    [{ descr: '' }, ['descr'], 'string_pattern_mismatch'],
    [{ descr: ' ' }, ['descr'], 'string_pattern_mismatch'],
    [{ descr: 'a\u0000b' }, ['descr'], 'string_pattern_mismatch'],
    [{ descr: 'x'.repeat(101) }, ['descr'], 'string_too_long'],
    [{ descr: 7 }, ['descr'], 'string_type'],
    [{ tags: 'a' }, ['tags'], 'list_type'],
    [{ tags: [''] }, ['tags', 0], 'value_error'],
    [{ tags: ['a', 'x'.repeat(51)] }, ['tags', 1], 'value_error'],
    [{ tags: Array.from({ length: 21 }, (_, n) => `t${n}`) }, ['tags'], 'too_long'],
    [{ description: 'mine' }, ['description'], 'extra_forbidden'],
    [{ add_tags: ['a'] }, ['add_tags'], 'extra_forbidden'],
  ])('refuses %j', async (body, loc, type) => {
    const [id = 0] = await insert(1);
    const response = await patch(`/proxies/${id}`, body);
    expect(response.status).toBe(422);
    expect(response.json()).toMatchObject({ detail: [{ type, loc: ['body', ...loc] }] });
    expect(await details(id)).toMatchObject({ descr: null, tags: [] });
  });

  it('takes the longest label and as many tags as there may be', async () => {
    const [id = 0] = await insert(1);
    const tags = Array.from({ length: 20 }, (_, n) => `${n}`.padStart(50, 'x'));
    const response = await patch(`/proxies/${id}`, { descr: '😀'.repeat(100), tags });
    expect(response.json()).toMatchObject({ descr: '😀'.repeat(100), tags: [...tags].sort() });
  });

  it('is seen in lists and exports at once, on every replica', async () => {
    const [id = 0] = await insert(2);
    await withReplica(service, {}, async (replica) => {
      const elsewhere = (path: string, headers: Record<string, string> = {}) =>
        sendRaw(replica.baseUrl, { path, token: user.token, headers });
      const known = { 'If-None-Match': String((await elsewhere('/proxies')).headers.etag) };
      expect((await elsewhere('/proxies', known)).status).toBe(304);
      await patch(`/proxies/${id}`, { descr: 'mine' });
      const after = await elsewhere('/proxies', known);
      expect(after.status).toBe(200);
      expect(after.json()).toMatchObject([{ id: String(id), descr: 'mine' }, { descr: null }]);
      expect((await elsewhere('/proxies/export')).text).toBe(after.text);
    });
  });

  it('never reaches the provider, and nothing of the provider overwrites it', async () => {
    const id = (await user.buy()).data?.proxies[0]?.id ?? '';
    const sales = (await service.control.getState()).sales.map(({ descr }) => descr);
    await service.control.clearCalls();
    await patch(`/proxies/${id}`, { descr: 'mine', tags: ['team'] });
    expect(await service.control.getCalls()).toEqual([]);
    await service.control.changeProxy(await service.providerIdOf(id), { host: '127.0.0.3' });
    await service.runJob('sweep');
    await user.prolong(id);
    expect(await details(id)).toMatchObject({ host: '127.0.0.3', descr: 'mine', tags: ['team'] });
    expect((await service.control.getState()).sales.map(({ descr }) => descr)).toEqual(sales);
    expect(JSON.stringify(await service.control.getCalls())).not.toContain('mine');
  });

  it('is in the response of a prolongation, and in the replay of it as it was then', async () => {
    const id = (await user.buy()).data?.proxies[0]?.id ?? '';
    await patch(`/proxies/${id}`, { descr: 'then' });
    const prolong = () => user.prolong(id, { key: `label-${id}` });
    const first = await prolong();
    await patch(`/proxies/${id}`, { descr: 'now' });
    const replay = await prolong();
    expect(first.data?.proxy.descr).toBe('then');
    expect([replay.response.headers.get('idempotency-replayed'), replay.data]).toEqual(['true', first.data]);
  });
});

describe('PATCH /proxies', () => {
  it('labels the proxies of some ids, and returns which of them changed', async () => {
    const [theirs = 0] = await insert(1, await service.createUser());
    const [one = 0, two = 0, three = 0] = await insert(3);
    await patch(`/proxies/${two}`, { tags: ['old', 'keep'] });
    const body = {
      proxy_ids: [one, two, theirs, 'x', one].map(String),
      add_tags: ['new', 'new'],
      remove_tags: ['old'],
    };
    const response = await patch('/proxies', body);
    expect(response.status).toBe(200);
    expect(response.json()).toEqual({
      changed: [String(one), String(two)],
      unchanged: [],
      not_found: [String(theirs), 'x'],
    });
    expect([(await details(one)).tags, (await details(two)).tags]).toEqual([['new'], ['keep', 'new']]);
    expect((await details(three)).tags).toEqual([]);
    expect((await patch('/proxies', body)).json()).toMatchObject({
      changed: [],
      unchanged: [String(one), String(two)],
    });
  });

  it('labels what a filter matches, up to 1,000', async () => {
    const ids = await insert(1001);
    await service.dataSource.query(`UPDATE proxies SET country = 'de' WHERE id = ANY ($1)`, [ids.slice(1)]);
    const all = await patch('/proxies', { filter: {}, descr: 'all' });
    expect(all.status).toBe(400);
    expect(all.json()).toMatchObject({
      detail: 'The filter matches 1001 proxies, but a request can include at most 1000',
    });
    const some = await patch('/proxies', { filter: { country: 'de' }, descr: 'some', tags: ['t'] });
    expect(some.json()).toEqual({ changed: ids.slice(1).map(String), unchanged: [], not_found: [] });
    expect(JSON.parse((await get('/proxies?label=some&tag=t')).text)).toHaveLength(1000);
    expect(await details(ids[0] ?? 0)).toMatchObject({ descr: null, tags: [] });
  });

  it('changes nothing when one of the proxies would have too many tags', async () => {
    const [one = 0, two = 0] = await insert(2);
    const full = Array.from({ length: 20 }, (_, n) => `t${String(n).padStart(2, '0')}`);
    await patch(`/proxies/${two}`, { tags: full });
    const response = await patch('/proxies', { filter: {}, add_tags: ['more'], descr: 'x' });
    expect([response.status, response.json()]).toMatchObject([
      400,
      { detail: 'A proxy can have at most 20 tags; nothing was changed' },
    ]);
    expect(await details(one)).toMatchObject({ descr: null, tags: [] });
    const swapped = await patch('/proxies', { filter: {}, add_tags: ['more'], remove_tags: ['t00'] });
    expect(swapped.status).toBe(200);
  });

  it('keeps all tags that are added at the same time', async () => {
    const ids = (await insert(50)).map(String);
    const tags = Array.from({ length: 12 }, (_, n) => `t${String(n).padStart(2, '0')}`);
    const responses = await Promise.all(
      tags.map((tag, n) => patch('/proxies', { proxy_ids: n % 2 ? ids : ids.toReversed(), add_tags: [tag] })),
    );
    expect(responses.map(({ status }) => status)).toEqual(tags.map(() => 200));
    expect((await details(ids[49] ?? '')).tags).toEqual(tags);
  });

  it('requires the proxies to be named', async () => {
    for (const body of [{ descr: 'x' }, { proxy_ids: [], descr: 'x' }, { proxy_ids: ['1'], filter: {} }]) {
      expect((await patch('/proxies', body)).status).toBe(422);
    }
  });
});
