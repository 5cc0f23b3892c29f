import { forAllTests } from '../support/fixtures';
import { runRenewals } from '../support/renewals';
import { startTestService, type TestUser } from '../support/test-service';

/** In days. A rental of a week is due at once by a rule that renews a week before the end. */
const PERIOD = 7;
const AHEAD_HOURS = 168;

jest.setTimeout(60_000);

describe('Renewals', () => {
  const service = forAllTests(() => startTestService({ environment: { PROVIDER_TIMEOUT_MS: '2000' } }));

  async function customerWhoRenewsFor(period: number): Promise<TestUser> {
    const user = await service.createUser();
    const body = { country: 'ru', period: PERIOD } as const;
    expect((await user.buy(body)).response.status).toBe(200);
    await service.dataSource.query(
      'INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, $2, $3)',
      [user.id, period, AHEAD_HOURS],
    );
    return user;
  }

  const renewalsOf = ({ id }: TestUser): Promise<{ state: string; reason: string | null }[]> =>
    service.dataSource.query('SELECT state, reason FROM renewals WHERE user_id = $1', [id]);

  // Waiting for these prices takes longer than a lease of the run, which is renewed meanwhile.
  it('are executed while the prices of others are not returned in time', async () => {
    const slow = await Promise.all([45, 50, 55].map(customerWhoRenewsFor));
    const user = await customerWhoRenewsFor(PERIOD);
    await service.control.setLatencies({ getprice: 60_000 });
    await runRenewals(service);
    await runRenewals(service);
    await service.control.setLatencies({ getprice: 0 });
    expect(await renewalsOf(user)).toMatchObject([{ state: 'done' }]);
    expect((await Promise.all(slow.map(renewalsOf))).flat()).toMatchObject(
      slow.map(() => ({ state: 'skipped', reason: 'no-price' })),
    );
    await service.untilSettled();
    await service.audit({ withProvider: true });
  });
});
