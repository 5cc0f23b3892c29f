// A service of its own: the quiet time is the ordinary one, and passes in the database.
import { eventually } from './support/built-service';
import { checkNow } from './support/quiet-time';
import { startTestService, type TestService } from './support/test-service';

describe('An order whose outcome is unknown', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ environment: { RECONCILE_QUIET_SECONDS: '600' } });
  });
  afterAll(() => service.close());

  /** Has the order checked once more, with this many seconds since the deadline and the first empty check. */
  async function check(secondsSince: { deadline: number; firstEmpty: number }): Promise<void> {
    const calls = (await service.control.getCalls('getproxy')).length;
    await service.owner.query(
      `UPDATE orders SET deadline = now() - make_interval(secs => $1),
                         nothing_seen_since = now() - make_interval(secs => $2) WHERE closed_at IS NULL`,
      [secondsSince.deadline, secondsSince.firstEmpty],
    );
    await checkNow(service);
    await eventually(async () => (await service.control.getCalls('getproxy')).length > calls);
  }

  it('is refunded after the quiet time and a second empty check a minute after the first', async () => {
    const user = await service.createUser({ balance: '100.00' });
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } });
    const held = async () => (await service.balanceOf(user)).held;
    await check({ deadline: 590, firstEmpty: 120 });
    expect(await held()).toBe('25.08');
    await check({ deadline: 700, firstEmpty: 50 });
    expect(await held()).toBe('25.08');
    await check({ deadline: 700, firstEmpty: 61 });
    await eventually(async () => (await held()) === '0.00');
    expect(await service.control.getCalls('buy')).toHaveLength(1);
  });
});
