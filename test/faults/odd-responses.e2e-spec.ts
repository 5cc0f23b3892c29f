import { ProviderError, ProxyProvider } from '../../src/provider';
import type { FaultSpec } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { runRenewals } from '../support/renewals';
import { createStaff } from '../support/staff';
import { startTestService } from '../support/test-service';

const LONG = '9'.repeat(5000);
/** `undefined`: the field is missing. */
const ODD_VALUES = [null, undefined, 852_340, 'text', '', LONG, 'NUL\0', [], { odd: true }, -1] as const;
type Change = NonNullable<FaultSpec['changes']>[number];

const ROW = {
  id: '31000001',
  ip: '2a00::1',
  host: '10.0.0.1',
  port: '7330',
  user: 'user',
  pass: 'pass',
  type: 'http',
  country: 'ru',
  date: '2026-06-19 16:32:39',
  date_end: '2027-07-12 11:50:41',
  unixtime: 1_766_379_159,
  unixtime_end: 1_868_349_441,
  descr: 'hand',
  active: '1',
  version: '6',
};
const FIELDS = Object.keys(ROW);
const ENVELOPE = ['status', 'user_id', 'currency'];
/** The fields of a row that are not used are odd in listings only. */
const BOUGHT = ['id', 'host', 'port', 'user', 'pass', 'type', 'unixtime', 'unixtime_end'];

const changeOf = (path: readonly string[], value: unknown): Change =>
  ({ path, ...(value !== undefined && { value }) }) as Change;

const oddities = (fields: readonly string[], at: readonly string[] = []): Change[] =>
  fields.flatMap((name) =>
    // Another number is the id of another proxy.
    ODD_VALUES.filter((value) => name !== 'id' || value !== 852_340).map((value) =>
      changeOf([...at, name], value),
    ),
  );

describe('Odd values in each field of each response of the provider', () => {
  // Not shared, because fields of all proxies and prices are odd for a while.
  const service = forAllTests(startTestService);
  const user = forAllTests(() => service.createUser({ balance: '1000000.00' }));
  const statuses = new Set<number>();

  const alter = (method: FaultSpec['method'], changes: Change[], times: number | null = null) =>
    service.control.addFault({ method, kind: 'altered', changes, times });
  const note = ({ response: { status } }: { readonly response: Response }) => statuses.add(status);
  const buy = async (count = 1) => {
    const bought = await user.buy({ count });
    note(bought);
    return bought.data?.proxies ?? [];
  };

  const countOf = async (condition: string): Promise<number> => {
    const [{ count }] = await service.dataSource.query<[{ count: number }]>(
      `SELECT count(*)::integer AS count FROM ${condition}`,
    );
    return count;
  };

  const agree = async () => {
    await service.control.resetFaults();
    await service.untilSettled();
    expect(await service.runJob('sweep')).toMatchObject({ unread_own: 0, unread_unknown: 0, unmatched: 0 });
    await service.audit({ withProvider: true });
    expect(await countOf(`orders WHERE state = 'review'`)).toBe(0);
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  };

  it('of prices sell nothing for absurd amounts', async () => {
    await service.control.setPrice('6', 30, '999999999999.00');
    for (const count of [1, 50]) expect((await user.buy({ count })).response.status).toBe(503);
    await service.control.setPrice('6', 30, '50.00');
  });

  it('cost a listing only its rows', async () => {
    const own = oddities(FIELDS);
    const proxies = (await Promise.all([50, 50, own.length - 100].map(buy))).flat();
    const before = (await user.api.GET('/proxies')).data;
    const ids = await Promise.all(proxies.map(({ id }) => service.providerIdOf(id)));
    expect(ids).toHaveLength(own.length);
    const changes = own.flatMap(({ path, value }, at): Change[] => {
      const id = String(9_000_000 + at);
      const odd = (row: string) => changeOf(['list', row, ...path], value);
      return [odd(String(ids[at])), { path: ['list', id], value: { ...ROW, id } }, odd(id)];
    });
    const match = { page: '1' };
    await service.control.addFault({ method: 'getproxy', match, kind: 'altered', changes, times: null });
    for (let sweep = 0; sweep < 3; sweep += 1) {
      const report = await service.runJob('sweep');
      expect(report).toMatchObject({ listed: 2 * own.length, unmatched: 0, withdrawn: 0, implausible: 0 });
      expect(report?.['unread_own']).toBeGreaterThan(40);
      expect(report?.['unread_foreign']).toBeGreaterThan(40);
      expect(report?.['unread_unknown']).toBeGreaterThan(10);
    }
    // This listing is read for the ends, too.
    const { data, response } = await user.api.POST('/proxies/prolong', {
      body: { proxy_ids: proxies.map(({ id }) => id), period: 30 },
      params: { header: { 'Idempotency-Key': 'odd' } },
    });
    note({ response });
    expect(data?.totals.prolonged).toBeGreaterThan(0);
    await agree();
    const after = (await user.api.GET('/proxies')).data;
    type Listed = NonNullable<typeof after>[number];
    const known = ({ id, host, port, login, password }: Listed) => [id, host, port, login, password];
    expect(after?.map(known)).toEqual(before?.map(known));
  });

  it('lose no purchase and no prolongation', async () => {
    const [proxy] = await buy();
    const prolong = async () => note(await user.prolong(proxy?.id ?? ''));
    const each = async (method: FaultSpec['method'], changes: Change[], call: () => Promise<unknown>) => {
      for (const change of changes) {
        await alter(method, [change], 1);
        await call();
      }
    };
    const ofOrder = oddities(['order_id', 'price', 'list']);
    await Promise.all([
      each('buy', [...ofOrder, ...oddities(['count']), ...oddities(BOUGHT, ['list', '*'])], () => buy()),
      each('prolong', [...ofOrder, ...oddities(['id', 'unixtime_end'], ['list', '*'])], prolong),
    ]);
    await agree();
    const { sales, prolongations } = await service.control.getState();
    expect(await countOf('proxies')).toBe(sales.flatMap(({ proxyIds }) => proxyIds).length);
    expect(await countOf(`orders WHERE kind = 'prolongation' AND state = 'completed'`)).toBe(
      prolongations.flatMap(({ proxies }) => proxies).length,
    );
  });

  it('lose no purchase whose outcome only such a listing shows', async () => {
    for (const change of oddities(['id', 'type', 'descr'], ['list', '*'])) {
      await service.control.resetFaults();
      await service.control.addFault({ method: 'buy', kind: 'response-lost' });
      await alter('getproxy', [change]);
      await buy();
    }
    await agree();
    const { sales } = await service.control.getState();
    expect(await countOf('proxies')).toBe(sales.flatMap(({ proxyIds }) => proxyIds).length);
  });

  it('are errors of the provider in every other read', async () => {
    const provider = service.app.get(ProxyProvider);
    const reads: [FaultSpec['method'], string[], () => Promise<unknown>][] = [
      ['getcountry', ['list'], () => provider.countries('6')],
      ['getcount', ['count'], () => provider.stock('ru', '6')],
      ['getprice', ['data'], () => provider.priceTable()],
      ['getprice', ['price'], () => provider.totalPrice({ count: 1, period: 30, version: '6' })],
      ['getprice', [], () => provider.readBalance()],
      ['settype', [], () => provider.setType({ proxyId: '1', proxyType: 'http' })],
    ];
    for (const [method, fields, read] of reads) {
      for (const change of oddities([...ENVELOPE, ...fields])) {
        await alter(method, [change], 1);
        const outcome = await read().catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProviderError);
      }
    }
    const [one, ...others] = await provider.countries('6');
    for (const { value } of oddities(['0'])) {
      await alter('getcountry', [changeOf(['list', '0'], value)], 1);
      expect((await provider.countries('6')).filter((country) => country !== 'text')).toEqual(others);
      await alter('getprice', [changeOf(['data', '6', '30'], value)], 1);
      const prices = (await provider.priceTable()).get('6');
      expect([prices?.has(7), prices?.get(30)]).toEqual([true, value === 852_340 ? '852340' : undefined]);
    }
    expect(one).toBeDefined();
    await agree();
  });
});

describe('Odd rows of others in the listing', () => {
  // Not shared: breakers have their usual limits, and a test closes the service for maintenance.
  const service = forAllTests(() => startTestService({ tuning: { breakerFailures: 5 } }));
  const user = forAllTests(() => service.createUser({ balance: '1000000.00' }));
  const staff = forAllTests(() => createStaff(service));

  it('cost neither renewals, nor reads of the stock, nor the end of maintenance', async () => {
    const RENEWALS = 20;
    const rows = [
      ...oddities(FIELDS).map(({ path: [name = ''], value }) => ({ ...ROW, [name]: value })),
      { ...ROW, version: '5', type: 'mtproto', user: null },
      ...['4.5', 4.5].map((version) => ({ ...ROW, version })),
      { ...ROW, descr: '\ud800' },
      null,
    ];
    const changes = rows.map((row, at): Change => {
      const id = String(9_000_000 + at);
      // The id stays odd where that is what is odd.
      return { path: ['list', id], value: row?.id === ROW.id ? { ...row, id } : row };
    });
    const match = { page: '1' };
    await service.control.addFault({ method: 'getproxy', match, kind: 'altered', changes, times: null });
    const { data } = await user.buy({ period: 7, count: RENEWALS });
    expect(data?.proxies).toHaveLength(RENEWALS);

    await service.dataSource.query(
      'INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 7, 168)',
      [user.id],
    );
    await runRenewals(service);
    await service.untilSettled();
    await runRenewals(service);
    expect(await service.dataSource.query('SELECT DISTINCT state, reason FROM renewals')).toEqual([
      { state: 'done', reason: null },
    ]);

    await service.owner.query('INSERT INTO maintenance DEFAULT VALUES');
    const reason = 'the listing is odd';
    await eventually(async () => {
      const report = await service.runJob('sweep');
      expect(report).toMatchObject({
        listed: rows.length + RENEWALS,
        unmatched: 0,
        withdrawn: 0,
        unread_own: 0,
      });
      expect(report?.['unread_foreign']).toBeGreaterThan(40);
      expect(report?.['unread_unknown']).toBeGreaterThan(5);
      return (await staff.post('/staff/maintenance/end', { reason })).status === 200;
    });
    const { prolongations } = await service.control.getState();
    expect(prolongations.flatMap(({ proxies }) => proxies)).toHaveLength(RENEWALS);

    await service.control.setStock('6', 'de', 12);
    const params = { path: { country: 'de' } };
    expect((await user.api.GET('/countries/{country}/count', { params })).response.status).toBe(200);
    expect((await user.buy()).response.status).toBe(200);
    await service.control.resetFaults();
    await service.audit({ withProvider: true });
  });
});
