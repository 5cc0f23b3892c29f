import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { holdPermits } from './support/hold-permits';
import { startTestService, type TestUser } from './support/test-service';

const DUE = 500;
const PER_CALL = 10;
const CALLS_PER_SECOND = 10;

describe('Many due renewals', () => {
  // The provider accepts few calls.
  const service = forAllTests(() =>
    startTestService({
      environment: { PROVIDER_RATE_PER_SECOND: String(CALLS_PER_SECOND) },
      tuning: { ordersPerCall: PER_CALL },
    }),
  );
  beforeAll(() => service.control.setStock('6', 'ru', 1_000_000));

  const buy = (user: TestUser, count = 1) => user.buy({ period: 7, count });

  /** How many calls go out before that of a purchase, which is queued behind renewals. */
  async function callsBeforePurchase(user: TestUser): Promise<number> {
    const queued = `SELECT FROM orders WHERE user_id = $1 AND state = 'reserved'`;
    const { bought } = await holdPermits(service.dataSource, async () => {
      const requested = buy(user);
      await eventually(async () => (await service.dataSource.query(queued, [user.id])).length > 0);
      await service.control.clearCalls();
      return { bought: requested };
    });
    expect((await bought).response.status).toBe(200);
    return (await service.control.getCalls()).findIndex(({ method }) => method === 'buy');
  }

  it('let a purchase pass: they stand in the queue a few calls at a time', async () => {
    const [renewing, buying] = [
      await service.createUser({ balance: '1000000.00' }),
      await service.createUser(),
    ];
    expect((await buy(renewing, DUE)).response.status).toBe(200);
    await service.runJob('sweep');
    await service.dataSource.query(
      'INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 7, 168)',
      [renewing.id],
    );
    const stopping = new AbortController();
    const running = service.runJob('renewals', stopping.signal);
    const count = async (state: string): Promise<number> =>
      (await service.dataSource.query('SELECT FROM renewals WHERE state = $1', [state])).length;
    await eventually(async () => (await count('placed')) > 0);
    const before = [await callsBeforePurchase(buying), await callsBeforePurchase(buying)];
    // Some renewals were still open, so the purchases competed with them.
    expect(await count('done')).toBeLessThan(DUE);
    stopping.abort();
    await running;
    expect(Math.max(...before)).toBeLessThan(DUE / PER_CALL / 4);
  });
});
