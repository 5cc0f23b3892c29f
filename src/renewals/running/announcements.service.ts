import { Injectable } from '@nestjs/common';
import type { SkipReason } from '../decide';
import { RenewalPrices } from './renewal-prices';
import { RenewalRecords } from './renewal-records';

const TOLD_AT_ONCE = 1000;

/**
 * Tells customers of their renewals: of each when it comes within seven days of its end, and again three days
 * and one day before when it will not work out as things are.
 */
@Injectable()
export class Announcements {
  constructor(
    private readonly records: RenewalRecords,
    private readonly prices: RenewalPrices,
  ) {}

  /** Tells of some that nobody was told of yet. @returns as a step of a job */
  async tellNext(): Promise<{ done: number; next: true | null }> {
    const untold = await this.records.findUntold(TOLD_AT_ONCE);
    const book = this.prices.open();
    const obstacles = new Map<string, SkipReason>();
    const told = await Promise.all(
      untold.map(async (renewal) => {
        const quote = await book.quote(renewal);
        return {
          id: renewal.id,
          days: renewal.days,
          price: typeof quote === 'string' ? null : quote.unitPrice.toString(),
          obstacle: obstacles.get(`${renewal.proxyId} ${renewal.dateEnd.getTime()}`) ?? null,
        };
      }),
    );
    await this.records.tell(told);
    return { done: told.length, next: untold.length === TOLD_AT_ONCE ? true : null };
  }
}
