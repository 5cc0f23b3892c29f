import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
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

  const countRenewalCalls = async () => (await service.control.getCalls('prolong')).length;

  /** How many calls of renewals go out while a purchase waits. */
  async function callsBesidePurchase(user: TestUser): Promise<number> {
    const counts: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const before = await countRenewalCalls();
      expect((await buy(user)).response.status).toBe(200);
      counts.push((await countRenewalCalls()) - before);
    }
    return counts.toSorted((one, other) => one - other)[2] ?? Infinity;
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
    const beside = await callsBesidePurchase(buying);
    // Some renewals were still open, so the purchases competed with them.
    expect(await count('done')).toBeLessThan(DUE);
    stopping.abort();
    await running;
    expect(beside).toBeLessThan(DUE / PER_CALL / 4);
  });
});
