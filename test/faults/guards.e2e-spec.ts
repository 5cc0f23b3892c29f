import { compareDryRuns } from '../support/dry-runs';
import { forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { PriceLead } from '../support/price-lead';
import { racePrices } from '../support/price-race';
import { startTestService } from '../support/test-service';

const RISES = inLongForm(1000, 80);
const STATES = inLongForm(500, 100);
const MINUTES = 60_000;

describe('Guards of orders, over and over', () => {
  const service = forAllTests(startTestService);
  afterEach(() => service.audit({ withProvider: true }));

  it(
    `let no order be charged above its max_price in ${RISES} rises of the price`,
    async () => {
      const user = await service.createUser({ balance: '10000000.00' });
      const lead = new PriceLead(service);
      await service.control.setStock('6', 'ru', 1_000_000);
      await service.control.setBalance('100000000.00');
      const report = await racePrices(service, lead, user, { rises: RISES, buyers: 4 });
      lead.restore();
      process.stdout.write(`${report.placed} placed, ${report.refused} refused\n`);
      expect(report.chargedAboveGuard).toEqual([]);
      expect(report.placed).toBeGreaterThanOrEqual(RISES / 10);
      expect(report.refused).toBeGreaterThan(RISES / 20);
    },
    10 * MINUTES,
  );

  it(
    `are reported by dry runs as by the orders that follow, in ${STATES} random states`,
    async () => {
      const outcomes = await compareDryRuns(service, STATES);
      expect(outcomes.size).toBeGreaterThan(6);
    },
    10 * MINUTES,
  );
});
