// A service of its own: it has the default settlement delay, and only the tests check orders.
import { ReconciliationService } from '../src/orders/reconciliation/reconciliation.service';
import { forAllTests } from './support/fixtures';
import { checkNow } from './support/settlement-delay';
import { startTestService } from './support/test-service';

describe('An order whose outcome is unknown', () => {
  const service = forAllTests(() =>
    startTestService({
      environment: { SETTLEMENT_DELAY_SECONDS: '600' },
      jobIntervalsMs: { 'reconcile-orders': 3_600_000 },
    }),
  );

  async function check(secondsSince: { call: number; firstEmpty: number | null }): Promise<void> {
    await service.owner.query(
      `UPDATE orders SET sent_before = now() - make_interval(secs => $1),
                         nothing_seen_since = now() - make_interval(secs => $2) WHERE closed_at IS NULL`,
      [secondsSince.call, secondsSince.firstEmpty],
    );
    await checkNow(service);
    expect(await service.app.get(ReconciliationService).settleDue(1)).toBe(1);
  }

  it('is canceled after the settlement delay and a second empty check a minute after the first', async () => {
    const user = await service.createUser({ balance: '100.00' });
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await user.buy();
    const held = async () => (await service.balanceOf(user)).held;
    await check({ call: 590, firstEmpty: 120 });
    expect(await held()).toBe('25.08');
    await check({ call: 700, firstEmpty: 50 });
    expect(await held()).toBe('25.08');
    await check({ call: 700, firstEmpty: 61 });
    expect(await held()).toBe('0.00');
    const calls = await service.control.getCalls('buy');
    expect(calls.filter(({ parameters }) => parameters['descr']?.includes(`.u${user.id}.`))).toHaveLength(1);
  });

  describe('after the last of its scheduled searches', () => {
    beforeEach(async () => {
      const user = await service.createUser();
      await service.control.addFault({ method: 'buy', kind: 'reset' });
      await user.buy();
    });
    afterEach(() => check({ call: 3600, firstEmpty: 61 }));

    const nextCheckInSeconds = async (): Promise<number> => {
      const [order] = await service.owner.query<{ seconds: number }[]>(
        `SELECT extract(epoch FROM next_search_at - now())::float8 AS seconds
           FROM orders WHERE closed_at IS NULL`,
      );
      return order?.seconds ?? 0;
    };

    it('is searched for each 10 to 20 minutes', async () => {
      await check({ call: 3600, firstEmpty: 0 });
      expect(await nextCheckInSeconds()).toBeGreaterThan(590);
      expect(await nextCheckInSeconds()).toBeLessThan(1201);
    });

    it('is searched for again a minute after a search that is the first to find nothing', async () => {
      await check({ call: 3600, firstEmpty: null });
      expect(await nextCheckInSeconds()).toBeGreaterThan(50);
      expect(await nextCheckInSeconds()).toBeLessThan(61);
    });
  });
});
