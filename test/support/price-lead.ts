import { CurrentMarkups, PriceRulesService } from '../../src/pricing';
import type { TestService } from './test-service';

/** At least the time from writing a price change to its effect. */
const LEAD_MS = 1600;

/** Moves the database's clock ahead for price changes, so that they take effect at once. */
export class PriceLead {
  private readonly rules: PriceRulesService;
  private readonly spy: jest.SpiedFunction<PriceRulesService['readRevision']>;

  constructor(private readonly service: TestService) {
    this.rules = service.app.get(PriceRulesService);
    const readRevision = this.rules.readRevision.bind(this.rules);
    this.spy = jest.spyOn(this.rules, 'readRevision').mockImplementation(async () => {
      const { revision, now } = await readRevision();
      return { revision, now: new Date(now.getTime() + LEAD_MS) };
    });
  }

  applyChanges(): Promise<void> {
    return this.service.app.get(CurrentMarkups).follow();
  }

  restore(): void {
    this.spy.mockRestore();
  }
}
