import { forAllTests } from './support/fixtures';
import { readPages } from './support/pages';
import { insertProxies } from './support/proxy-rows';
import { sendRaw } from './support/raw-http';
import { startTestService, type TestUser } from './support/test-service';

interface Event {
  readonly at: string;
  readonly event: string;
  readonly order_id: number | null;
  readonly price: string | null;
  readonly from: string | null;
  readonly to: string | null;
}
interface Page {
  readonly items: Event[];
  readonly next_cursor: string | null;
}

// The tests leave proxies that the provider lacks, and books that lack changes.
const service = forAllTests(startTestService);

const request = (user: TestUser, id: number | string, query = '') =>
  sendRaw(service.baseUrl, { path: `/proxies/${id}/history${query}`, token: user.token });
const page = async (user: TestUser, id: number | string, query = ''): Promise<Page> =>
  (await request(user, id, query)).json() as Page;
const events = async (user: TestUser, id: number | string) =>
  (await page(user, id)).items.map(({ event, from, to }) => [event, from, to]);
const query = (text: string, parameters: unknown[] = []) =>
  service.dataSource.query<Record<string, unknown>[]>(text, parameters);

async function buyOne(user: TestUser) {
  const { data } = await user.buy();
  const proxy = data?.proxies[0];
  if (!data || !proxy) throw new Error('nothing was bought');
  const providerId = await service.providerIdOf(proxy.id);
  return { ...proxy, orderId: data.order_id, price: data.price_charged, providerId };
}
const prolong = (user: TestUser, id: string, key?: string) => user.prolong(id, { key });

describe('The history of a proxy', () => {
  it('shows by which orders it was bought and prolonged, and at what price', async () => {
    const user = await service.createUser();
    const proxy = await buyOne(user);
    const { data } = await prolong(user, proxy.id);
    expect(await page(user, proxy.id)).toEqual({
      items: [
        {
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          event: 'prolonged',
          order_id: data?.order_id,
          price: data?.price_charged,
          from: proxy.date_end,
          to: data?.proxy.date_end,
        },
        {
          at: expect.any(String),
          event: 'bought',
          order_id: proxy.orderId,
          price: proxy.price,
          from: null,
          to: null,
        },
      ],
      next_cursor: null,
    });
  });

  it('shows what the provider changed, and never a login or a password', async () => {
    const user = await service.createUser();
    const proxy = await buyOne(user);
    const sweep = () => service.runJob('sweep');
    const unixtimeEnd = Math.floor(Date.now() / 1000) + 90 * 86_400;
    await service.control.changeProxy(proxy.providerId, { host: '127.0.0.9', port: 4321 });
    await sweep();
    await service.control.changeProxy(proxy.providerId, { unixtimeEnd });
    await sweep();
    await query(`UPDATE proxies SET withdrawn_at = now(), absences = 2 WHERE id = $1`, [proxy.id]);
    await sweep();
    await query(`UPDATE proxies SET login = 'stolen', password = 'secret-password' WHERE id = $1`, [
      proxy.id,
    ]);
    expect(await events(user, proxy.id)).toEqual([
      ['credentials_changed', null, null],
      ['returned', null, null],
      ['withdrawn', null, null],
      ['end_changed', proxy.date_end, new Date(unixtimeEnd * 1000).toISOString().replace('.000', '')],
      ['moved', `${proxy.host}:${proxy.port}`, '127.0.0.9:4321'],
      ['bought', null, null],
    ]);
    const notes = JSON.stringify(await query('SELECT * FROM proxy_changes WHERE proxy_id = $1', [proxy.id]));
    for (const secret of [proxy.login, proxy.password, 'stolen', 'secret-password']) {
      expect(notes).not.toContain(secret);
    }
    await sweep();
  });

  it('shows a change of the type', async () => {
    const user = await service.createUser();
    const proxy = await buyOne(user);
    const response = await sendRaw(service.baseUrl, {
      method: 'PUT',
      path: `/proxies/${proxy.id}/type`,
      token: user.token,
      body: '{"proxy_type":"socks"}',
    });
    expect(response.status).toBe(200);
    expect(await events(user, proxy.id)).toContainEqual(['type_changed', 'http', 'socks']);
  });

  it('has no labels, flags or absences, and no purchase writes a note', async () => {
    const user = await service.createUser();
    const [{ count: before } = { count: 0 }] = await query('SELECT count(*) FROM proxy_changes');
    const proxy = await buyOne(user);
    await query(`UPDATE proxies SET label = 'x', tags = '{y}', absences = 1, active = false WHERE id = $1`, [
      proxy.id,
    ]);
    await service.runJob('active-flags');
    await query('UPDATE proxies SET host = host, date_end = date_end WHERE id = $1', [proxy.id]);
    const [{ count: after } = { count: 0 }] = await query('SELECT count(*) FROM proxy_changes');
    expect(after).toBe(before);
    expect(await events(user, proxy.id)).toEqual([['bought', null, null]]);
  });

  it('comes in pages that neither skip nor repeat, also while it goes on', async () => {
    const user = await service.createUser();
    const [id = 0] = await insertProxies(service.dataSource, user.id, 1);
    for (let n = 1; n <= 7; n++) {
      await query('UPDATE proxies SET port = $2, login = $2 WHERE id = $1', [id, String(n)]);
    }
    const whole = await page(user, id, '?limit=100');
    expect(whole.items).toHaveLength(15);
    const walked = await readPages(async (cursor) => {
      const next = await page(user, id, `?limit=2${cursor}`);
      await query(`UPDATE proxies SET port = port || '0' WHERE id = $1`, [id]);
      return next;
    });
    expect(walked).toEqual(whole.items);
  });

  it('of the time before the notes comes from the orders', async () => {
    const user = await service.createUser();
    const proxy = await buyOne(user);
    const kept = await prolong(user, proxy.id, 'kept');
    const without = await prolong(user, proxy.id);
    await service.owner.query(`
      ALTER TABLE proxy_changes DISABLE TRIGGER proxy_changes_append_only;
      DELETE FROM proxy_changes WHERE proxy_id = ${proxy.id};
      ALTER TABLE proxy_changes ENABLE TRIGGER proxy_changes_append_only`);
    expect((await page(user, proxy.id)).items).toMatchObject([
      { event: 'prolonged', order_id: without.data?.order_id, from: kept.data?.proxy.date_end, to: null },
      {
        event: 'prolonged',
        order_id: kept.data?.order_id,
        from: proxy.date_end,
        to: kept.data?.proxy.date_end,
      },
      { event: 'bought', order_id: proxy.orderId },
    ]);
  });

  it.each(['?limit=0', '?limit=201', '?cursor=x', '?cursor=1', '?cursor=99999999999999999.1', '?unknown=1'])(
    'refuses %s',
    async (wrong) => {
      const user = await service.createUser();
      const [id = 0] = await insertProxies(service.dataSource, user.id, 1);
      expect((await request(user, id, wrong)).status).toBe(422);
    },
  );
});
