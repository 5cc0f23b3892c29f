import { Logger } from '@nestjs/common';
import { Jobs } from '../src/jobs';
import type { FaultSpec } from '../src/sandbox';
import { fetchAs } from './support/api-client';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { leaveOrderOpen } from './support/open-order';
import { startTestService } from './support/test-service';

const NOTHING = {
  changed: 0,
  extended: 0,
  unmatched: 0,
  withdrawn: 0,
  implausible: 0,
  unread_foreign: 0,
  unread_own: 0,
  unread_unknown: 0,
};

describe('The full sweep', () => {
  // Sweeps read all users' proxies, and each test begins with none that is rented.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  afterEach(async () => {
    await service.control.resetFaults();
    await service.untilSettled();
    const { sales, goneProxyIds } = await service.control.getState();
    const gone = new Set(goneProxyIds);
    const left = sales.flatMap(({ proxyIds }) => proxyIds.filter((id) => !gone.has(id)));
    await Promise.all(left.map((id) => service.control.withdrawProxy(id)));
    await service.owner.query(
      `UPDATE proxies SET date_end = now(), active = false WHERE date_end > now();
       DELETE FROM completed_sweeps; DELETE FROM unmatched_proxies; DELETE FROM job_runs`,
    );
  });
  beforeClosing(() => service.audit());

  const buy = async (count = 1) => (await user.buy({ count })).data?.proxies ?? [];
  const run = () => service.runJob('sweep');
  const storedProxies = (columns: string): Promise<Record<string, unknown>[]> =>
    service.dataSource.query(`SELECT ${columns} FROM proxies WHERE user_id = $1 ORDER BY id`, [user.id]);
  /** The xmin of a row changes with every write, even one without a change. */
  const versions = () => storedProxies('id, xmin::text');

  it('changes nothing, and no row again, while both sides agree, and records its report', async () => {
    await buy(3);
    const [{ before } = { before: null }] = await service.dataSource.query<{ before: Date }[]>(
      'SELECT clock_timestamp() AS before',
    );
    const report = await run();
    expect(report).toEqual({ ...NOTHING, listed: 3 });
    const [stored] = await service.dataSource.query(
      `SELECT report, finished_at IS NOT NULL AS finished FROM job_runs WHERE name = 'sweep'`,
    );
    expect(stored).toEqual({ report, finished: true });
    const completed = await service.dataSource.query<object[]>(
      `SELECT listed, completed_at > began_at AS "endsLater", began_at >= $1 AS "beginsLater"
         FROM completed_sweeps`,
      [before],
    );
    expect(completed).toEqual([{ listed: 3, endsLater: true, beginsLater: true }]);
    const rows = await versions();
    await run();
    expect(await versions()).toEqual(rows);
  });

  it('takes over new addresses and ends, and names what ends later than anybody ordered', async () => {
    const [moved, later, corrected] = await buy(3);
    const warned = jest.spyOn(Logger.prototype, 'warn').mockClear();
    const changed = Math.floor(Date.now() / 1000) + 5 * 86_400;
    await service.control.changeProxy(await service.providerIdOf(moved?.id), {
      host: '127.0.0.2',
      port: 4321,
      unixtimeEnd: changed,
    });
    const end = Math.floor(Date.parse(later?.date_end ?? '') / 1000);
    // Hours are no correction.
    for (const [proxy, seconds] of [
      [later, 86_400],
      [corrected, 3600],
    ] as const) {
      const id = await service.providerIdOf(proxy?.id);
      await service.control.changeProxy(id, { unixtimeEnd: end + seconds });
    }
    expect(await run()).toMatchObject({ changed: 3, extended: 1 });
    expect(warned.mock.calls).toEqual([[`proxies ${later?.id} end later than any order accounts for`]]);
    expect((await user.api.GET('/proxies')).data?.find(({ id }) => id === moved?.id)).toEqual({
      ...moved,
      host: '127.0.0.2',
      port: '4321',
      date_end: new Date(changed * 1000).toISOString().replace('.000', ''),
    });
    expect(await run()).toMatchObject({ changed: 0, extended: 0 });
  });

  it('reads every page', async () => {
    await service.control.setDialect({ pageLimit: 2 });
    await buy(5);
    await service.control.clearCalls();
    expect(await run()).toEqual({ ...NOTHING, listed: 5 });
    expect((await service.control.getCalls('getproxy')).length).toBeGreaterThanOrEqual(3);
    await service.control.setDialect({ pageLimit: 1000 });
  });

  it('records proxies under our references without an order once, and ignores others', async () => {
    await buy();
    const [{ orderReference }] = await service.dataSource.query(
      'SELECT order_reference AS "orderReference" FROM orders WHERE user_id = $1',
      [user.id],
    );
    const buyUnder = (descr: string) =>
      service.wire.call(`buy/?count=1&period=30&country=ru&version=6&descr=${descr}`);
    await buyUnder(orderReference);
    await buyUnder(orderReference.replace(/\.o\d+x$/, '.o999999x'));
    await buyUnder('someone-else');

    expect(await run()).toMatchObject({ listed: 4, unmatched: 2 });
    expect(await run()).toMatchObject({ listed: 4, unmatched: 0 });
    const unmatched = await service.dataSource.query(
      'SELECT order_reference AS "orderReference" FROM unmatched_proxies ORDER BY id',
    );
    expect(unmatched).toEqual([
      { orderReference },
      { orderReference: orderReference.replace(/\.o\d+x$/, '.o999999x') },
    ]);
  });

  it('records no unmatched proxy that an open order may account for', async () => {
    await leaveOrderOpen(service, user);
    expect(await run()).toMatchObject({ listed: 1, unmatched: 0 });
  });

  describe('of a proxy that the provider has withdrawn', () => {
    let bought: { id: string }[];
    const order = () => user.buy({ count: 2 }, 'withdrawn');
    const exported = async (query: string) => {
      const response = await fetchAs(user, 'GET', `${service.baseUrl}/proxies/export?${query}`);
      return (await response.json()) as { id: string; active: boolean }[];
    };
    const activity = (proxies: readonly { active?: boolean }[] | undefined) =>
      proxies?.map(({ active }) => active);

    beforeEach(async () => {
      bought = (await order()).data?.proxies ?? [];
      await service.control.withdrawProxy(await service.providerIdOf(bought[0]?.id));
    });

    it('counts it as withdrawn after the second sweep, and shows it as inactive from then on', async () => {
      expect(await run()).toEqual({ ...NOTHING, listed: 1 });
      expect(activity((await user.api.GET('/proxies')).data)).toEqual([true, true]);
      // Only the others' ends are confirmed.
      const confirmed = await storedProxies('end_confirmed_at(id) IS NOT NULL AS "isConfirmed"');
      expect(confirmed).toEqual([{ isConfirmed: false }, { isConfirmed: true }]);
      expect(await run()).toEqual({ ...NOTHING, listed: 1, withdrawn: 1 });
      const before = await versions();
      expect([await run(), await versions()]).toEqual([{ ...NOTHING, listed: 1 }, before]);
      expect(await storedProxies('absences, withdrawn_at IS NOT NULL AS withdrawn, active')).toEqual([
        { absences: 2, withdrawn: true, active: false },
        { absences: 0, withdrawn: false, active: true },
      ]);
      await service.audit({ withProvider: true });

      expect(activity((await user.api.GET('/proxies')).data)).toEqual([false, true]);
      expect(activity(await exported('format=json'))).toEqual([false, true]);
      expect((await exported('active_only=true')).map(({ id }) => id)).toEqual([bought[1]?.id]);
      const replayed = await order();
      expect(replayed.response.headers.get('Idempotency-Replayed')).toBe('true');
      expect(activity(replayed.data?.proxies)).toEqual([false, true]);
    });
  });

  describe('of a proxy that the provider lists again', () => {
    const hide = () =>
      service.dataSource.query(
        `UPDATE proxies SET provider_proxy_id = 'x' || provider_proxy_id WHERE user_id = $1`,
        [user.id],
      );
    const unhide = () =>
      service.dataSource.query(
        'UPDATE proxies SET provider_proxy_id = substr(provider_proxy_id, 2) WHERE user_id = $1',
        [user.id],
      );

    it('shows the proxy as active at once, and counts its absences from zero again', async () => {
      const bought = await buy();
      for (const absences of [1, 2, 1]) {
        await hide();
        for (let time = 1; time <= absences; time += 1) {
          expect(await run()).toMatchObject({ withdrawn: time === 2 ? 1 : 0 });
        }
        expect((await user.api.GET('/proxies')).data).toMatchObject([{ active: absences < 2 }]);
        await unhide();
        await service.owner.query('DELETE FROM unmatched_proxies');
        expect(await run()).toEqual({ ...NOTHING, listed: 1, changed: 1 });
        expect((await user.api.GET('/proxies')).data).toEqual(bought);
        const [row] = await storedProxies('absences, withdrawn_at, active');
        expect(row).toEqual({ absences: 0, withdrawn_at: null, active: true });
      }
    });
  });

  describe('of a listing that lacks many proxies', () => {
    const states = () =>
      service.dataSource.query(
        `SELECT count(*) FILTER (WHERE active) AS active, count(withdrawn_at) AS withdrawn
           FROM proxies WHERE user_id = $1`,
        [user.id],
      );
    const withdraw = async (count: number) => {
      const ids = await service.dataSource.query<{ id: string }[]>(
        'SELECT provider_proxy_id AS id FROM proxies WHERE user_id = $1 AND absences = 0 LIMIT $2',
        [user.id, count],
      );
      for (const { id } of ids) await service.control.withdrawProxy(Number(id));
    };
    const request = async (method: string, path: string, body?: object) => {
      const response = await fetchAs(staff, method, `${service.baseUrl}/staff/missing-proxies${path}`, body);
      return { status: response.status, body: await response.json() };
    };

    const staff = forAllTests(() => service.createUser({ scopes: ['staff:system'] }));
    beforeEach(() => buy(30));

    it('marks nothing from 21 on, until staff decide about the number that they have seen', async () => {
      await withdraw(21);
      for (let times = 0; times < 3; times++) {
        expect(await run()).toMatchObject({ listed: 9, withdrawn: 0, implausible: 21 });
        expect(await states()).toEqual([{ active: 30, withdrawn: 0 }]);
      }
      const seen = await request('GET', '');
      expect(seen.body).toEqual({ proxies: 21, users: 1 });
      expect(await request('POST', '/withdraw', { proxies: 20, reason: 'gone' })).toMatchObject({
        status: 409,
      });
      expect(await states()).toEqual([{ active: 30, withdrawn: 0 }]);
      expect(await request('POST', '/withdraw', { proxies: 21, reason: 'gone' })).toEqual({
        ...seen,
        status: 200,
      });
      expect(await states()).toEqual([{ active: 9, withdrawn: 21 }]);
      expect(await run()).toMatchObject({ withdrawn: 0, implausible: 0 });
      const [action] = await service.dataSource.query(
        `SELECT reason, before FROM audit_log WHERE action = 'missing.withdraw' AND after IS NOT NULL`,
      );
      expect(action).toEqual({ reason: 'gone', before: seen.body });
    });

    it('withdraws 20 of them, and marks nothing of more that vanish within a day', async () => {
      await withdraw(20);
      await run();
      expect(await run()).toMatchObject({ withdrawn: 20, implausible: 0 });
      await withdraw(1);
      await run();
      expect(await run()).toMatchObject({ withdrawn: 0, implausible: 21 });
    });

    it('takes them up again when they are listed again', async () => {
      await service.dataSource.query('UPDATE proxies SET absences = 2 WHERE user_id = $1', [user.id]);
      expect(await run()).toMatchObject({ changed: 30, withdrawn: 0, implausible: 0 });
      expect(await request('GET', '')).toMatchObject({ body: { proxies: 0, users: 0 } });
    });
  });

  describe('of rows that cannot be read', () => {
    /** An unknown kind of proxy, bought by hand in the same account. */
    const HAND = { descr: 'hand', type: 'mtproto', version: '5', user: null, pass: null, host: '10.0.0.1' };

    const list = (...changes: NonNullable<FaultSpec['changes']>) =>
      service.control.addFault({
        method: 'getproxy',
        match: { page: '1' },
        kind: 'altered',
        changes: changes.map(({ path, value }) => ({ path: ['list', ...path], value })),
        times: null,
      });
    const foreign = (id: string, row = {}) => ({ path: [id], value: { id, ...HAND, ...row } });
    const states = () =>
      storedProxies(
        'absences, withdrawn_at IS NOT NULL AS withdrawn, end_confirmed_at(id) IS NOT NULL AS confirmed',
      );
    const CONFIRMED = { absences: 0, withdrawn: false, confirmed: true };
    let ids: number[];
    beforeEach(async () => {
      const bought = await buy(3);
      ids = await Promise.all(bought.map(({ id }) => service.providerIdOf(id)));
    });

    it('skips and names those of others, and compares all proxies of ours', async () => {
      const warned = jest.spyOn(Logger.prototype, 'warn').mockClear();
      await list(
        foreign('9011'),
        foreign('9012', { descr: null }),
        { path: [`${ids[0]}`, 'type'], value: 'HTTP' },
        { path: [`${ids[0]}`, 'pass'], value: 852340 },
      );
      expect(await run()).toEqual({ ...NOTHING, listed: 5, changed: 1, unread_foreign: 2 });
      expect(await run()).toMatchObject({ changed: 0, unread_foreign: 2 });
      expect(await states()).toEqual([CONFIRMED, CONFIRMED, CONFIRMED]);
      expect((await user.api.GET('/proxies')).data?.[0]).toMatchObject({ password: '852340' });
      const fields = 'port, user, pass, unixtime, unixtime_end';
      expect(warned.mock.calls).toEqual(
        ['9011', '9012'].map((id) => [`the provider lists a row that cannot be read: row ${id}: ${fields}`]),
      );
    });

    it('keeps the stored type of ours while an unknown one is listed, and names it once', async () => {
      const warned = jest.spyOn(Logger.prototype, 'warn').mockClear();
      await list(
        { path: [`${ids[0]}`, 'type'], value: 'quic' },
        { path: [`${ids[0]}`, 'port'], value: '8001' },
        { path: [`${ids[1]}`, 'type'], value: 'quic' },
      );
      expect(await run()).toEqual({ ...NOTHING, listed: 3, changed: 1 });
      const [first, second] = (await user.api.GET('/proxies')).data ?? [];
      expect([first, second]).toMatchObject([{ proxy_type: 'http', port: '8001' }, { proxy_type: 'http' }]);
      expect(warned.mock.calls).toEqual([['the provider lists an unknown proxy type: quic']]);
    });

    it('takes one of ours for listed, but not for compared', async () => {
      const [odd = 0, , gone = 0] = ids;
      await service.control.withdrawProxy(gone);
      await list({ path: [`${odd}`, 'port'], value: 'none' });
      expect(await run()).toEqual({ ...NOTHING, listed: 2, unread_own: 1 });
      expect(await run()).toMatchObject({ withdrawn: 1, unread_own: 1 });
      expect(await states()).toEqual([
        { absences: -1, withdrawn: false, confirmed: false },
        CONFIRMED,
        { absences: 2, withdrawn: true, confirmed: false },
      ]);
      await service.control.resetFaults();
      expect(await run()).toMatchObject({ unread_own: 0 });
      expect((await states())[0]).toEqual(CONFIRMED);
    });

    it('counts no absences while one may be of anybody, and completes', async () => {
      const [, , gone = 0] = ids;
      await list({ path: ['9001'], value: null }, { path: [`${gone}`, 'id'], value: null });
      for (let sweep = 0; sweep < 3; sweep += 1) {
        expect(await run()).toEqual({ ...NOTHING, listed: 4, unread_unknown: 2 });
      }
      expect(await states()).toEqual([
        CONFIRMED,
        CONFIRMED,
        { absences: -1, withdrawn: false, confirmed: false },
      ]);
      expect(await service.dataSource.query('SELECT FROM completed_sweeps')).toHaveLength(3);
    });

    it('costs one of ours its own prolongation, and those of others nothing', async () => {
      for (let purchase = 0; purchase < 3; purchase += 1) await buy();
      await run();
      // Too old to confirm the ends, which are then read in one listing.
      await service.dataSource.query(`UPDATE completed_sweeps SET began_at = began_at - interval '2 hours'`);
      const [odd, ...good] = (await user.api.GET('/proxies')).data ?? [];
      const id = await service.providerIdOf(odd?.id);
      await list(foreign('9001'), { path: [`${id}`, 'port'], value: 'none' });
      const responses = await Promise.all([odd, ...good].map((proxy) => user.prolong(proxy?.id ?? '')));
      expect(responses.map(({ response }) => response.status)).toEqual([503, ...good.map(() => 200)]);
      expect((await service.balanceOf(user)).held).toBe('0.00');
    });
  });

  it('leaves the ends alone of an open prolongation, and of one behind which the listing lags', async () => {
    const [lagging, open] = await buy(2);
    await service.control.addFault({ method: 'prolong', kind: 'late-listing', hiddenForMs: 600_000 });
    const { data } = await user.prolong(lagging?.id ?? '');
    const gate = await service.control.addGate({ method: 'prolong', stage: 'executed' });
    const prolonged = user.prolong(open?.id ?? '');
    await service.control.untilGateReached(gate);
    expect(await run()).toMatchObject({ changed: 0 });
    expect((await user.api.GET('/proxies')).data).toEqual([data?.proxy, open]);
    await service.control.openGate(gate);
    expect((await prolonged).response.status).toBe(200);
  });

  it('does not withdraw a proxy whose rental is over', async () => {
    const [proxy] = await buy();
    const id = await service.providerIdOf(proxy?.id);
    await service.control.changeProxy(id, { unixtimeEnd: Math.floor(Date.now() / 1000) - 60 });
    await run();
    await service.control.withdrawProxy(id);
    await run();
    expect(await run()).toMatchObject({ withdrawn: 0 });
    const [row] = await storedProxies('absences, withdrawn_at');
    expect(row).toEqual({ absences: 0, withdrawn_at: null });
  });

  it('counts no absence when the database has lost the sightings', async () => {
    await buy();
    // A database crash empties this unlogged table while the sweep waits for its page.
    await run();
    const gate = await service.control.addGate({ method: 'getproxy', stage: 'received' });
    const swept = run();
    await service.control.untilGateReached(gate);
    await service.owner.query('TRUNCATE sweep_sightings');
    await service.control.openGate(gate);
    await expect(swept).rejects.toThrow('the sightings of the sweep are gone');
    expect(await storedProxies('absences')).toEqual([{ absences: 0 }]);
    expect(await service.dataSource.query('SELECT FROM completed_sweeps')).toHaveLength(1);
  });

  it('runs on one replica at a time, and not again before it is due', async () => {
    const whenDue = () => service.app.get(Jobs).runWhenDue('sweep');
    const reports = await Promise.all([whenDue(), whenDue(), whenDue()]);
    expect(reports.filter((report) => report !== null)).toHaveLength(1);
    expect(await whenDue()).toBeNull();
    expect(await run()).not.toBeNull();
  });
});
