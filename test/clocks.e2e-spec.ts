import { SystemClock } from '../src/common';
import { Jobs } from '../src/jobs';
import { Metrics } from '../src/metrics';
import { OrderClaims } from '../src/orders';
import { forAllTests, forEachTest } from './support/fixtures';
import { withReplica } from './support/replica';
import { startTestService, testUser } from './support/test-service';

const HOUR_MS = 3_600_000;

describe('When a clock is changed', () => {
  // The clock changes.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser({ balance: '500.00' }));
  // A replica's copies look young, because the replica's clock does not advance.
  beforeEach(() => service.dataSource.query('DELETE FROM catalog_copies'));
  afterEach(() => jest.restoreAllMocks());

  const buy = () => user.buy();
  const setPrice = (price: string) => service.control.setPrice('6', 30, price);
  const setDatabaseBack = () =>
    service.dataSource.query(
      `UPDATE catalog_copies
          SET fetched_at = fetched_at + interval '1 hour', changed_at = changed_at + interval '1 hour'`,
    );

  it('a machine that was suspended between claim and call buys nothing, and the money is back', async () => {
    const claims = service.app.get(OrderClaims);
    const claim = claims.claimNextBatch.bind(claims);
    jest.spyOn(claims, 'claimNextBatch').mockImplementationOnce(async (...how) => {
      const batch = await claim(...how);
      // The monotonic clock stands still.
      jest.spyOn(SystemClock.prototype, 'now').mockReturnValue(new Date(Date.now() + HOUR_MS));
      return batch;
    });
    expect((await buy()).error).toEqual({ detail: 'Service temporarily unavailable' });
    const { sales } = await service.control.getState();
    expect(sales.filter(({ descr }) => descr.includes(`.u${user.id}.`))).toEqual([]);
    expect(await service.balanceOf(user)).toMatchObject({ available: '500.00', held: '0.00' });
  });

  it('the wall clock of a replica is set back: orders are charged the present price', async () => {
    await setPrice('10.00');
    service.clock.advanceSeconds(61);
    expect((await buy()).data?.price_charged).toBe('12.00');
    await setPrice('20.00');
    service.clock.advanceSeconds(61);
    service.clock.setWallClock(-3600);
    expect((await buy()).data?.price_charged).toBe('24.00');
  });

  it('the database’s clock is set back: orders are charged the present price, at every replica', async () => {
    await setPrice('10.00');
    service.clock.advanceSeconds(61);
    expect((await buy()).data?.price_charged).toBe('12.00');
    await setDatabaseBack();
    await setPrice('20.00');
    service.clock.advanceSeconds(61);
    expect((await buy()).data?.price_charged).toBe('24.00');

    await setDatabaseBack();
    await setPrice('30.00');
    await withReplica(service, {}, async (replica) => {
      expect((await testUser(replica.baseUrl, user.id, user.token).buy()).data?.price_charged).toBe('36.00');
    });
  });

  it('the database’s clock is set back: jobs are not put off', async () => {
    const jobs = new Jobs(service.dataSource, Metrics.disabled);
    jobs.run({ name: 'set-back', everySeconds: 600, execute: () => Promise.resolve({ done: 1 }) });
    const run = () => jobs.runWhenDue('set-back');
    expect([await run(), await run()]).toEqual([{ done: 1 }, null]);
    await service.dataSource.query(
      `UPDATE job_runs SET started_at = started_at + interval '1 hour' WHERE name = 'set-back'`,
    );
    expect(await run()).toEqual({ done: 1 });
  });
});
