import { forAllTests } from './support/fixtures';
import { insertProxies, type ProxyRow } from './support/proxy-rows';
import { type RawResponse, sendRaw } from './support/raw-http';
import { unauditedTestService, type TestUser } from './support/test-service';

const DAY_S = 24 * 3600;
const service = forAllTests(unauditedTestService);

const insert = (user: TestUser, count: number, row?: ProxyRow) =>
  insertProxies(service.dataSource, user.id, count, row);
const request = (user: TestUser, path: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  sendRaw(service.baseUrl, { path, token: user.token, headers });
const idsIn = (response: RawResponse): number[] =>
  (response.json() as { id: string }[]).map(({ id }) => Number(id));
const set = (ids: readonly number[], assignment: string) =>
  service.dataSource.query(`UPDATE proxies SET ${assignment} WHERE id = ANY ($1)`, [ids]);
const nextOf = (response: RawResponse): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(String(response.headers['link']))?.[1];

async function walk(user: TestUser, first: string): Promise<number[][]> {
  const pages: number[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const response = await request(user, path);
    expect(response.status).toBe(200);
    pages.push(idsIn(response));
    path = nextOf(response);
  }
  return pages;
}

describe('A filter', () => {
  let names: Map<number, string>;
  let orders: number[];
  const user = forAllTests(() => service.createUser());
  beforeAll(async () => {
    await insert(await service.createUser(), 3, { descr: 'mine' });
    const rows: Record<string, [ProxyRow, string?]> = {
      plain: [{}],
      socks: [{ proxyType: 'socks', descr: 'mine' }],
      german: [{ endsInSeconds: 90 * DAY_S }, `country = 'de', version = '4s', tags = '{team,a b}'`],
      expired: [{ endsInSeconds: -60, descr: 'mine too' }],
      withdrawn: [{ descr: 'Mine' }, `withdrawn_at = now(), tags = '{team}'`],
      endless: [{}, 'date_end = NULL'],
    };
    names = new Map();
    orders = [];
    for (const [name, [row, assignment]] of Object.entries(rows)) {
      const ids = await insert(user, 1, row);
      if (assignment) await set(ids, assignment);
      names.set(ids[0] ?? 0, name);
      const [{ orderId }] = await service.dataSource.query<[{ orderId: number }]>(
        'SELECT order_id AS "orderId" FROM proxies WHERE id = $1',
        ids,
      );
      orders.push(orderId);
    }
  });

  const ALL = ['plain', 'socks', 'german', 'expired', 'withdrawn', 'endless'];
  const SOON = encodeURIComponent(new Date(Date.now() + 31 * DAY_S * 1000).toISOString());

  it.each([
    ['', ALL],
    ['unknown=1', ALL],
    ['country=de', ['german']],
    ['country=DE', ['german']],
    ['country=fr', []],
    ['version=6', ['plain', 'socks', 'expired', 'withdrawn', 'endless']],
    ['version=4s', ['german']],
    ['proxy_type=socks', ['socks']],
    ['active=true', ['plain', 'socks', 'german']],
    ['active=false', ['expired', 'withdrawn', 'endless']],
    ['label=mine', ['socks']],
    ['label=%20mine%20', ['socks']],
    ['label=mine%25', []],
    ['tag=team', ['german', 'withdrawn']],
    ['tag=Team', ['german', 'withdrawn']],
    ['tag=a%20b', ['german']],
    ['tag=a', []],
    [`ends_before=${SOON}`, ['plain', 'socks', 'expired', 'withdrawn']],
    ['ends_before=2020-01-01T00:00:00Z', []],
    ['order_id=ORDER', ['plain']],
    ['order_id=999999999', []],
    ['tag=team&active=true', ['german']],
    ['country=ru&version=6&proxy_type=http&active=false&label=mine%20too', ['expired']],
    ["label='%20OR%20true%20--", []],
  ])('of %j selects %j in lists, pages and exports', async (query, expected) => {
    const path = query.replace('ORDER', String(orders[0]));
    const named = (ids: readonly number[]) => ids.map((id) => names.get(id));
    expect(named(idsIn(await request(user, `/proxies?${path}`)))).toEqual(expected);
    expect(named(idsIn(await request(user, `/proxies/export?${path}`)))).toEqual(expected);
    expect(named((await walk(user, `/proxies?${path}&limit=2`)).flat())).toEqual(expected);
    const lines = (await request(user, `/proxies/export?format=txt&${path}`)).text.split('\n');
    expect(lines).toHaveLength(expected.length + 1);
  });

  it.each([
    ['country=r', 'country', 'string_pattern_mismatch'],
    ['country=', 'country', 'string_pattern_mismatch'],
    ['version=5', 'version', 'string_pattern_mismatch'],
    ['proxy_type=all', 'proxy_type', 'string_pattern_mismatch'],
    ['active=maybe', 'active', 'bool_parsing'],
    ['label=', 'label', 'string_pattern_mismatch'],
    ['label=a%00b', 'label', 'string_pattern_mismatch'],
    [`label=${'x'.repeat(101)}`, 'label', 'string_too_long'],
    ['tag=%20', 'tag', 'string_pattern_mismatch'],
    [`tag=${'x'.repeat(51)}`, 'tag', 'string_too_long'],
    ['ends_before=tomorrow', 'ends_before', 'datetime_parsing'],
    ['ends_before=2026-12-01T00:00:00', 'ends_before', 'timezone_aware'],
    ['order_id=0', 'order_id', 'greater_than'],
    ['limit=0', 'limit', 'greater_than'],
    ['limit=1001', 'limit', 'less_than_equal'],
    ['cursor=x', 'cursor', 'int_parsing'],
  ])('that is wrong is refused: %s', async (query, field, type) => {
    const response = await request(user, `/proxies?${query}`);
    expect(response.status).toBe(422);
    expect(response.json()).toMatchObject({ detail: [{ type, loc: ['query', field] }] });
  });

  it.each([
    '2026-12-01T00:00:00%2B0000',
    '2026-12-01T00:00:00+0000',
    '2026-12-01T03:00:00.5+0300',
    '2026-12-01T00:00:00z',
  ])(
    'takes the spelling %s of a time on routes of ours, and refuses it on a specified route',
    async (time) => {
      const refused = await request(user, `/proxies?ends_before=${time}`);
      const error = 'expected ISO 8601 with an offset, e.g. 2026-11-21T12:00:00Z';
      const msg = `Input should be a valid datetime, ${error}`;
      const input = decodeURIComponent(time.replaceAll('+', ' '));
      const loc = ['query', 'ends_before'];
      expect(refused.json()).toEqual({
        detail: [{ type: 'datetime_parsing', loc, msg, input, ctx: { error } }],
      });
      const taken = await request(user, `/proxies/lists/txt?ends_before=${time}`);
      const expected = await request(user, '/proxies/lists/txt?ends_before=2026-12-01T00:00:00Z');
      expect([taken.status, taken.text]).toEqual([200, expected.text]);
    },
  );

  it('has an entity tag of its own, good until a proxy changes', async () => {
    const one = await service.createUser();
    const [id = 0] = await insert(one, 2);
    const paths = ['/proxies', '/proxies?tag=x', '/proxies?country=ru', '/proxies?tag=x&limit=5'];
    const responses = await Promise.all(paths.map((path) => request(one, path)));
    const tags = responses.map(({ headers }) => String(headers.etag));
    expect(new Set(tags).size).toBe(paths.length);
    const statuses = () =>
      Promise.all(
        paths.map(async (path, n) => (await request(one, path, { 'If-None-Match': tags[n] ?? '' })).status),
      );
    expect(await statuses()).toEqual([304, 304, 304, 304]);
    await set([id], `tags = '{x}'`);
    expect(await statuses()).toEqual([200, 200, 200, 200]);
  });
});

describe('A page', () => {
  let ids: number[];
  const user = forAllTests(() => service.createUser());
  beforeAll(async () => {
    ids = await insert(user, 7);
  });

  it('leads to the next one by its Link, with the same filters, and the last one does not', async () => {
    expect((await request(user, '/proxies?limit=3&country=RU&nonsense=%3E%0D%0A')).headers['link']).toBe(
      `</proxies?limit=3&country=RU&nonsense=%3E%0D%0A&cursor=${ids[2]}>; rel="next"`,
    );
    expect(await walk(user, '/proxies?limit=3&country=RU')).toEqual([
      ids.slice(0, 3),
      ids.slice(3, 6),
      ids.slice(6),
    ]);
    expect(await walk(user, '/proxies?limit=7')).toEqual([ids]);
    expect(await walk(user, `/proxies?cursor=${ids[4]}`)).toEqual([ids.slice(5)]);
    expect(await walk(user, `/proxies?cursor=${ids[6]}&limit=1`)).toEqual([[]]);
  });

  it('has the same objects as the whole list, which has no Link', async () => {
    const whole = await request(user, '/proxies');
    expect(whole.headers).not.toHaveProperty('link');
    expect((await request(user, '/proxies?limit=1000')).text).toBe(whole.text);
  });

  it('is confirmed while it and its Link stay the same, with any changes elsewhere', async () => {
    const one = await service.createUser();
    const [first = 0, second = 0] = await insert(one, 2);
    const { headers } = await request(one, '/proxies?limit=2');
    const status = async () =>
      (await request(one, '/proxies?limit=2', { 'If-None-Match': String(headers.etag) })).status;
    expect(await status()).toBe(304);
    const [third = 0] = await insert(one, 1);
    expect(await status()).toBe(200);
    await service.dataSource.query('DELETE FROM proxies WHERE id = $1', [third]);
    expect(await status()).toBe(304);
    await set([first, second], `tags = '{x}'`);
    expect(await status()).toBe(304);
    await set([second], `label = 'x'`);
    expect(await status()).toBe(200);
  });

  it('is reached through pages with little or nothing among very many proxies', async () => {
    const one = await service.createUser();
    const many = await insert(one, 20_500);
    const found = [many[3] ?? 0, many[15_000] ?? 0, many[15_001] ?? 0, many[20_499] ?? 0];
    await set(found, `tags = '{rare}'`);
    const pages = await walk(one, '/proxies?tag=rare&limit=100');
    expect(pages).toEqual([found.slice(0, 1), found.slice(1, 3), found.slice(3)]);
    expect(await walk(one, '/proxies?tag=rare&limit=1')).toEqual(
      [...found.map((id) => [id]), []].slice(0, 4),
    );
    expect(await walk(one, '/proxies?label=nothing&limit=100')).toEqual([[], [], []]);
    expect(idsIn(await request(one, '/proxies?tag=rare'))).toEqual(found);
  });
});
