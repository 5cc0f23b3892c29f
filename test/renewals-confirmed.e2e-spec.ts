import { RenewalOrders } from '../src/orders';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests } from './support/fixtures';
import { runRenewals } from './support/renewals';
import { createStaff, type StaffResponse, staffWith } from './support/staff';
import { lockRow } from './support/table-lock';
import { startTestService, type TestUser } from './support/test-service';

interface Customer {
  readonly user: TestUser;
  readonly proxyId: number;
  readonly ruleId: number;
  readonly call: (method: string, path: string, body?: object) => Promise<StaffResponse<unknown>>;
}

// A run renews all users' proxies, and the tests lock tables.
const service = forAllTests(startTestService);
const staff = forAllTests(() => createStaff(service));
beforeClosing(() => service.audit({ withProvider: true }));

async function customer(): Promise<Customer> {
  const user = await service.createUser();
  const proxyId = Number((await user.buy({ period: 7 })).data?.proxies[0]?.id);
  await service.owner.query(`UPDATE proxies SET tags = '{team-a}', label = 'one' WHERE id = $1`, [proxyId]);
  const [rule] = await service.dataSource.query<{ id: number }[]>(
    // 168 hours make a rental of seven days due at once.
    `INSERT INTO renewal_rules (user_id, tag, label, period, hours_before)
     VALUES ($1, 'team-a', 'one', 7, 168) RETURNING id`,
    [user.id],
  );
  const caller = staffWith(service, user.id, user.token, 0);
  return {
    user,
    proxyId,
    ruleId: rule?.id ?? 0,
    call: (method, path, body = {}) => caller.change(method, path, body),
  };
}

const untilOneWaits = (condition: string): Promise<true> =>
  eventually(async () => {
    const waiting = await service.owner.query(
      `SELECT FROM pg_stat_activity AS one
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND ${condition}`,
    );
    return waiting.length > 0;
  });
const PLACES = `strpos(query, 'FROM place_renewals') > 0`;
const WAITS_FOR_PLACING = `EXISTS (
  SELECT FROM pg_stat_activity WHERE ${PLACES} AND pid = ANY (pg_blocking_pids(one.pid)))`;

const chargedTo = async ({ id }: TestUser): Promise<number> => {
  const orders = await service.dataSource.query(
    `SELECT FROM orders WHERE user_id = $1 AND kind = 'prolongation'`,
    [id],
  );
  return orders.length;
};

const REASON = { reason: 'A dispute' };
const PAUSE = { paused: true, ...REASON };

type Change = (customer: Customer) => Promise<StaffResponse<unknown>>;

describe.each<[name: string, lastTable: string | null, change: Change]>([
  [
    'an exclusion',
    'renewal_rules',
    ({ call, proxyId: id }) => call('POST', '/renewals/exclusions', { proxy_id: String(id) }),
  ],
  [
    'a narrower rule with a lower guard',
    'renewal_rules',
    ({ call, proxyId: id }) => {
      const narrow = { target: 'proxy', proxy_id: String(id), period: 7, max_price: '0.01' };
      return call('POST', '/renewals/rules', narrow);
    },
  ],
  ['a budget', 'renewal_settings', ({ call }) => call('PUT', '/renewals/budget', { monthly: '0.01' })],
  ['a block', 'audit_log', ({ user }) => staff.post(`/staff/users/${user.id}/block`, REASON)],
  [
    'a pause',
    'renewal_settings',
    ({ user }) => staff.change('PUT', `/staff/users/${user.id}/renewals`, PAUSE),
  ],
  [
    'a change of tags',
    null,
    ({ call, proxyId }) => call('PATCH', `/proxies/${proxyId}`, { tags: ['team-b'] }),
  ],
  [
    'a change of the label',
    null,
    ({ call, proxyId }) => call('PATCH', `/proxies/${proxyId}`, { descr: 'two' }),
  ],
  ['disabling the rule', 'renewal_rules', ({ call, ruleId }) => call('DELETE', `/renewals/rules/${ruleId}`)],
  ['disabling all rules', 'renewal_rules', ({ call }) => call('DELETE', '/renewals/rules')],
  ['a pause of all renewals', 'audit_log', () => staff.change('PUT', '/staff/renewals', PAUSE)],
])('After %s is confirmed, no renewal is charged', (_, lastTable, change) => {
  afterEach(async () => {
    await service.untilSettled();
    await service.owner.query('UPDATE renewals_pause SET paused_at = NULL, paused_reason = NULL');
  });

  it('that was being placed', async () => {
    const one = await customer();
    const held = await lockRow(service.owner, 'LOCK TABLE orders IN SHARE MODE');
    const running = runRenewals(service);
    await untilOneWaits(PLACES);
    let chargedBefore: number | undefined;
    const changing = change(one).then(async ({ status }) => {
      chargedBefore = await chargedTo(one.user);
      return status;
    });
    await Promise.race([changing, untilOneWaits(WAITS_FOR_PLACING)]);
    await held.release();
    expect(String(await changing)).toMatch(/^2/);
    await running;
    expect([chargedBefore, await chargedTo(one.user)]).toEqual([1, 1]);
  });

  // A change locks the rows that prevent placements, then writes this table.
  if (lastTable === null) return;
  it('that began to be placed while the change was written', async () => {
    const one = await customer();
    const orders = service.app.get(RenewalOrders);
    const place = orders.place.bind(orders);
    let changing: Promise<StaffResponse<unknown>> | undefined;
    jest.spyOn(orders, 'place').mockImplementationOnce(async (renewals) => {
      const held = await lockRow(service.owner, `LOCK TABLE ${lastTable} IN SHARE MODE`);
      changing = change(one);
      await untilOneWaits(`NOT ${PLACES}`);
      const placing = place(renewals);
      await Promise.race([placing, untilOneWaits(PLACES)]);
      await held.release();
      return placing;
    });
    await runRenewals(service);
    expect(String((await changing)?.status)).toMatch(/^2/);
    expect(await chargedTo(one.user)).toBe(0);
  });
});
