import { SweepService } from '../src/orders';
import { WireClient } from '../src/sandbox';
import { startTestService, type TestService, type TestUser } from './support/test-service';

describe('the full sweep', () => {
  let service: TestService;
  let sweep: SweepService;

  beforeEach(async () => {
    // Swept by the test alone.
    service = await startTestService({ environment: { SWEEP_INTERVAL_SECONDS: '86400' } });
    sweep = service.app.get(SweepService);
  });
  afterEach(async () => {
    await service.audit();
    await service.close();
  });

  const buy = async (user: TestUser, count = 1) => {
    const { data } = await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30, count } });
    return data?.proxies ?? [];
  };

  /** Past the moment in which an order was settled: what was settled after a page was asked for is left alone. */
  const run = () => sweep.sweepWhenDue(0);

  async function providerIdOf(proxyId: string | undefined): Promise<number> {
    const [row] = await service.dataSource.query(
      'SELECT provider_proxy_id AS id FROM proxies WHERE id = $1',
      [proxyId],
    );
    return Number(row.id);
  }

  it('changes nothing when both sides agree', async () => {
    await buy(await service.createUser(), 3);
    expect(await run()).toEqual({ listed: 3, changed: 0, orphans: 0, missing: 0 });
  });

  it('takes over that a proxy moved, and a new end', async () => {
    const user = await service.createUser();
    const [proxy] = await buy(user);
    const unixtimeEnd = Math.floor(Date.now() / 1000) + 5 * 86_400;
    await service.control.changeProxy(await providerIdOf(proxy?.id), {
      host: '127.0.0.2',
      port: 4321,
      unixtimeEnd,
    });
    expect(await run()).toMatchObject({ changed: 1 });
    const { data } = await user.api.GET('/proxies');
    expect(data).toEqual([
      {
        ...proxy,
        host: '127.0.0.2',
        port: '4321',
        date_end: new Date(unixtimeEnd * 1000).toISOString().replace('.000', ''),
      },
    ]);
  });

  it('reads every page', async () => {
    await service.control.setStock('6', 'us', 5000);
    const user = await service.createUser({ balance: '1000000.00' });
    for (const count of [1000, 1000, 500]) {
      await user.api.POST('/proxies/buy', { body: { country: 'us', period: 3, count } });
    }
    expect(await run()).toEqual({ listed: 2500, changed: 0, orphans: 0, missing: 0 });
  });

  it('keeps what is under our tags and of no order, once, and leaves others’ alone', async () => {
    await buy(await service.createUser());
    const [{ tag }] = await service.dataSource.query('SELECT tag FROM orders');
    const stranger = new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey);
    const buyUnder = (descr: string) =>
      stranger.ask(`buy/?count=1&period=30&country=ru&version=6&descr=${descr}`);
    await buyUnder(tag);
    await buyUnder(tag.replace(/\.o\d+$/, '.o999999'));
    await buyUnder('someone-else');

    expect(await run()).toMatchObject({ listed: 4, orphans: 2 });
    expect(await run()).toMatchObject({ listed: 4, orphans: 0 });
    const orphans = await service.dataSource.query('SELECT tag FROM orphans ORDER BY tag');
    expect(orphans).toEqual([{ tag }, { tag: tag.replace(/\.o\d+$/, '.o999999') }]);
  });

  it('does not take for an orphan what an open order may account for', async () => {
    const user = await service.createUser();
    await service.control.orderFault({ method: 'buy', kind: 'answer-lost' });
    await service.control.orderFault({
      method: 'getproxy',
      kind: 'http-status',
      status: 500,
      match: { descr: 'prs*' },
      times: null,
    });
    await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
    expect(await run()).toMatchObject({ listed: 1, orphans: 0 });
    await service.control.resetFaults();
  });

  it('believes an absence the second time, and a return at once', async () => {
    const user = await service.createUser();
    const [proxy] = await buy(user);
    await service.dataSource.query(`UPDATE proxies SET provider_proxy_id = 'x' || provider_proxy_id`);
    expect(await run()).toMatchObject({ missing: 0 });
    expect(await run()).toMatchObject({ missing: 1 });
    expect(await run()).toMatchObject({ missing: 0 });
    await service.dataSource.query('UPDATE proxies SET provider_proxy_id = substr(provider_proxy_id, 2)');
    await service.dataSource.query('TRUNCATE orphans');
    expect(await run()).toMatchObject({ changed: 1 });
    const [{ absences }] = await service.dataSource.query('SELECT absences FROM proxies WHERE id = $1', [
      proxy?.id,
    ]);
    expect(absences).toBe(0);
  });

  it('leaves the end to a prolongation that is open', async () => {
    const user = await service.createUser();
    const [proxy] = await buy(user);
    const gate = await service.control.orderGate({ method: 'prolong', stage: 'executed' });
    const prolonged = user.api.POST('/proxies/{proxy_id}/prolong', {
      params: { path: { proxy_id: proxy?.id ?? '' } },
      body: { period: 30 },
    });
    await service.control.untilGateReached(gate);
    expect(await run()).toMatchObject({ changed: 0 });
    await service.control.openGate(gate);
    expect((await prolonged).response.status).toBe(200);
  });

  it('runs on one replica at a time, and not again before its time', async () => {
    const reports = await Promise.all([
      sweep.sweepWhenDue(3600),
      sweep.sweepWhenDue(3600),
      sweep.sweepWhenDue(3600),
    ]);
    expect(reports.filter((report) => report !== null)).toHaveLength(1);
    expect(await sweep.sweepWhenDue(3600)).toBeNull();
    expect(await sweep.sweepWhenDue(0)).not.toBeNull();
  });
});
