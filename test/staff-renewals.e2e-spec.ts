import type * as dto from '../src/staff/renewals/staff-renewals.dto';
import type { StatusOut } from '../src/status';
import { forAllTests } from './support/fixtures';
import { createStaff, type Json } from './support/staff';
import { startTestService, type TestUser } from './support/test-service';

type Renewals = Json<dto.StaffRenewalsPage>;
type OfUser = Json<dto.RenewalsOfUserOut>;

interface RenewalRow {
  readonly state?: string;
  readonly reason?: string | null;
  readonly hours: number;
  readonly nextTry?: boolean;
}
let user: TestUser;
let other: TestUser;

// The tests list and pause all customers' renewals, and write some as the job would.
const service = forAllTests(startTestService);
const staff = forAllTests(() => createStaff(service));
beforeAll(async () => {
  [user, other] = [await service.createUser(), await service.createUser()];
});

const insert = async (statement: string, ...parameters: unknown[]): Promise<number> =>
  (await service.dataSource.query<{ id: number }[]>(statement, parameters))[0]?.id ?? 0;

const switchOn = ({ id }: TestUser, maxPrice: string | null = null): Promise<number> =>
  insert(
    'INSERT INTO renewal_rules (user_id, period, max_price) VALUES ($1, 30, $2) RETURNING id',
    id,
    maxPrice,
  );

const renewal = async (
  owner: TestUser,
  { state = 'skipped', reason = null, hours, nextTry = true }: RenewalRow,
): Promise<number> =>
  insert(
    `INSERT INTO renewals (proxy_id, date_end_before, user_id, rule_id, state, reason, period, due_at,
                           next_try_at)
     SELECT id, date_end, user_id, $2, $3, $4, 30, now() + make_interval(hours => $5),
            CASE WHEN $6 THEN now() END
       FROM proxies WHERE id = $1 RETURNING id`,
    (await owner.buy()).data?.proxies[0]?.id,
    await switchOn(owner),
    state,
    reason,
    hours,
    nextTry,
  );

const list = async (query: string): Promise<number[]> => {
  const { status, body } = await staff.get<Renewals>(`/staff/renewals?${query}`);
  expect([query, status]).toEqual([query, 200]);
  return body.items.map(({ id }) => id);
};
const status = async () => (await staff.get<Json<StatusOut>>('/staff/status')).body;
const set = (path: string, paused: boolean, reason = 'A dispute') =>
  staff.change('PUT', path, { paused, reason });

describe('Staff', () => {
  it('find renewals by user, state and reason, and those that wait for the service', async () => {
    const planned = await renewal(user, { state: 'planned', hours: 5 });
    const late = await renewal(user, { state: 'planned', hours: -2 });
    const short = await renewal(user, { reason: 'balance-short', hours: -3 });
    const down = await renewal(other, { reason: 'provider-unavailable', hours: -1 });
    const failed = await renewal(other, { state: 'failed', reason: 'no-price', hours: -20, nextTry: false });

    expect(await list('')).toEqual([failed, down, short, late, planned]);
    expect(await list(`user_id=${user.id}`)).toEqual([short, late, planned]);
    expect(await list('state=skipped')).toEqual([down, short]);
    expect([await list('reason=balance-short'), await list('due=true')]).toEqual([[short], [down, late]]);
    expect(await list(`state=failed&user_id=${other.id}&reason=no-price`)).toEqual([failed]);
    const page = (await staff.get<Renewals>('/staff/renewals?limit=2')).body;
    expect(page.next_cursor).toBe(down);
    expect(await list(`limit=2&cursor=${page.next_cursor}`)).toEqual([short, late]);
    expect(page.items[0]).toMatchObject({
      user_id: other.id,
      state: 'failed',
      reason: 'no-price',
      period: 30,
      next_try_at: null,
      links: { user: `/staff/users/${other.id}` },
    });

    expect(await status()).toMatchObject({
      renewals_due: 2,
      oldest_renewal_due_at: page.items.length && expect.any(String),
      renewals_failed: 1,
      renewals_paused_at: null,
      users_with_paused_renewals: 0,
    });
  });

  it('see what a user has enabled, what of the budget is used up, and nothing of others', async () => {
    const customer = await service.createUser();
    expect((await staff.get<OfUser>(`/staff/users/${customer.id}/renewals`)).body).toMatchObject({
      user_id: customer.id,
      paused_at: null,
      monthly_budget: null,
      spent_this_month: '0.00',
      rules: [],
    });
    const [first, second] = [await switchOn(customer), await switchOn(customer, '30.00')];
    await service.dataSource.query('UPDATE renewal_rules SET disabled_at = now() WHERE id = $1', [first]);
    await service.dataSource.query(
      'INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, 500)',
      [customer.id],
    );
    const { body } = await staff.get<OfUser>(`/staff/users/${customer.id}/renewals`);
    expect(body).toMatchObject({ monthly_budget: '500.00' });
    expect(body.rules).toEqual([
      {
        id: second,
        proxy_id: null,
        country: null,
        label: null,
        tag: null,
        period: 30,
        max_price: '30.00',
        hours_before: 24,
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await staff.get('/staff/users/999999/renewals')).status).toBe(404);
  });

  it("pause a user's renewals and let them go on, with the reason in the audit log", async () => {
    const path = `/staff/users/${user.id}/renewals`;
    expect((await set(path, true)).body).toMatchObject({
      paused_at: expect.any(String),
      paused_reason: 'A dispute',
    });
    const { paused_at: since } = (await set(path, true, 'Another reason')).body;
    expect((await staff.get(path)).body).toMatchObject({ paused_at: since, paused_reason: 'Another reason' });
    expect(await status()).toMatchObject({ users_with_paused_renewals: 1 });
    expect((await set(path, false)).body).toMatchObject({ paused_at: null, paused_reason: null });
    expect(await status()).toMatchObject({ users_with_paused_renewals: 0 });
    const [line] = await service.dataSource.query<object[]>(
      `SELECT action, target_id, reason, before->>'paused_reason' AS before, after->>'paused_at' AS after
         FROM audit_log WHERE action = 'renewals.pause' ORDER BY id DESC LIMIT 1`,
    );
    expect(line).toEqual({
      action: 'renewals.pause',
      target_id: String(user.id),
      reason: 'A dispute',
      before: 'Another reason',
      after: null,
    });
    expect((await set('/staff/users/999999/renewals', true)).status).toBe(404);
  });

  it('pause all renewals by a scope of their own', async () => {
    const { body } = await set('/staff/renewals', true, 'Wrong prices');
    expect(body).toEqual({ paused_at: expect.any(String), paused_reason: 'Wrong prices' });
    expect(await status()).toMatchObject({ renewals_paused_at: body['paused_at'] });
    const support = await createStaff(service, ['staff:orders']);
    const refused = await support.change('PUT', '/staff/renewals', { paused: false, reason: 'Support' });
    expect(refused.status).toBe(403);
    expect((await set('/staff/renewals', false)).body).toEqual({ paused_at: null, paused_reason: null });
    expect((await staff.change('PUT', '/staff/renewals', { paused: 'no', reason: 'x' })).status).toBe(422);
  });
});
