import { CurrentMarkups, PriceRulesService } from '../../src/pricing';
import type { TestService } from './test-service';

/** At least as long as a change of prices is written before it takes effect. */
const LEAD_MS = 1600;

/**
 * Spares tests the second and a half between a change of prices and its effect: the service believes that the
 * database's clock is that far ahead, and so applies a change as soon as it reads it.
 */
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

  /** Makes the service apply what has been written until now. */
  applyChanges(): Promise<void> {
    return this.service.app.get(CurrentMarkups).follow();
  }

  /** From now on changes take their time again. */
  restore(): void {
    this.spy.mockRestore();
  }
}
