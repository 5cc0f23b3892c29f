import { forAllTests, forEachTest } from './support/fixtures';
import { startTestService } from './support/test-service';

describe('After the replay window', () => {
  // The test counts all users' closed orders.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  const buy = (key: string) => user.buy({ count: 2 }, key);
  const prolong = (proxyId: string, key: string) => user.prolong(proxyId, { key });
  /** Moves rentals' ends into the past, in the customer's list and in the stored responses. */
  const end = async (daysAgo: number, what: { list: boolean } = { list: true }) => {
    const ended = new Date(Date.now() - daysAgo * 24 * 3_600_000);
    await service.owner.query(
      `UPDATE orders
          SET delivered_proxies = (SELECT jsonb_agg(proxy || jsonb_build_object('date_end', $2::timestamptz))
                                     FROM jsonb_array_elements(delivered_proxies) AS proxy)
        WHERE user_id = $1`,
      [user.id, ended],
    );
    if (!what.list) return;
    await service.owner.query('UPDATE proxies SET date_end = $2 WHERE user_id = $1', [user.id, ended]);
  };
  const close = () => service.runJob('retention');
  const storedSecrets = async (): Promise<number> => {
    const [row] = await service.owner.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM orders JOIN proxies USING (user_id)
        WHERE user_id = $1
          AND (strpos(delivered_proxies::text, proxies.password) > 0
               OR strpos(delivered_proxies::text, proxies.login) > 0)`,
      [user.id],
    );
    return row?.n ?? -1;
  };

  it('the replay still shows what was bought, and says that login and password are gone', async () => {
    const first = await buy('k');
    const proxyId = first.data?.proxies[0]?.id ?? '';
    const prolonged = await prolong(proxyId, 'p');
    await end(31);
    expect(await storedSecrets()).toBeGreaterThan(0);
    expect(await close()).toMatchObject({
      order_passwords: 2,
      unmatched_proxy_passwords: 0,
      unused_bulks: 0,
    });
    expect(await storedSecrets()).toBe(0);

    const gone = {
      login: '',
      password: '',
      descr: 'The login and the password are no longer stored',
      active: false,
      date_end: expect.any(String),
    };
    const replay = await buy('k');
    expect(replay.response.status).toBe(200);
    expect(replay.response.headers.get('Idempotency-Replayed')).toBe('true');
    expect(replay.data).toEqual({
      ...first.data,
      proxies: first.data?.proxies.map((proxy) => ({ ...proxy, ...gone })),
    });
    expect((await prolong(proxyId, 'p')).data).toEqual({
      ...prolonged.data,
      proxy: { ...prolonged.data?.proxy, ...gone },
    });
    const { sales } = await service.control.getState();
    expect(sales.filter(({ descr }) => descr.includes(`.u${user.id}.`))).toHaveLength(1);
    expect(await close()).toMatchObject({
      order_passwords: 0,
      unmatched_proxy_passwords: 0,
      unused_bulks: 0,
    });
    await service.audit();
  });

  it('that is open yet, or after a prolongation, the replay is complete', async () => {
    const first = await buy('k');
    await end(29);
    await close();
    expect((await buy('k')).data?.proxies).toMatchObject(
      (first.data?.proxies ?? []).map(({ login, password }) => ({ login, password })),
    );
    // The response is as old as the original rental, which was prolonged since.
    await end(29);
    await end(31, { list: false });
    await close();
    expect((await buy('k')).data?.proxies[0]?.password).toBe(first.data?.proxies[0]?.password);
  });

  it('unmatched proxies that ended as long ago keep no password either', async () => {
    const insert = (id: string, daysAgo: number) =>
      service.owner.query(
        `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login,
                              password, proxy_type, date_start, date_end)
         VALUES ('px6', $1, 'prs', '127.0.0.1', '1', 'login', 'password', 'http', now(),
                 now() - make_interval(days => $2))`,
        [id, daysAgo],
      );
    await insert('old', 31);
    await insert('young', 29);
    expect(await close()).toMatchObject({ unmatched_proxy_passwords: 1 });
    expect(
      await service.owner.query('SELECT provider_proxy_id AS id, password FROM unmatched_proxies ORDER BY 1'),
    ).toEqual([
      { id: 'old', password: '' },
      { id: 'young', password: 'password' },
    ]);
  });

  it('a bulk under whose key nothing was ordered is forgotten after a day, and others never', async () => {
    const [proxy] = (await buy('bought')).data?.proxies ?? [];
    const request = (key: string, proxyId = '') =>
      user.api.POST('/proxies/prolong', {
        params: { header: { 'Idempotency-Key': key } },
        body: { proxy_ids: [proxyId], period: 30 },
      });
    const stored = () =>
      service.owner.query<{ key: string }[]>(
        'SELECT idempotency_key AS key FROM bulk_prolongations WHERE user_id = $1 ORDER BY 1',
        [user.id],
      );
    const age = (interval: string) =>
      service.owner.query(
        'UPDATE bulk_prolongations SET tried_at = tried_at - $2::interval WHERE user_id = $1',
        [user.id, interval],
      );
    await request('prolonged', proxy?.id);
    await request('unused', '0');
    await request('tried-again', '0');
    await age('25 hours');
    await request('tried-again', '0');
    expect(await close()).toMatchObject({ unused_bulks: 1 });
    expect(await stored()).toEqual([{ key: 'prolonged' }, { key: 'tried-again' }]);
    await age('25 hours');
    expect(await close()).toMatchObject({ unused_bulks: 1 });
    expect(await stored()).toEqual([{ key: 'prolonged' }]);
    expect((await request('prolonged', proxy?.id)).response.headers.get('Idempotency-Replayed')).toBe('true');
  });
});
