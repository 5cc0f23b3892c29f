import { Injectable, Logger } from '@nestjs/common';
import { stackOf } from '../../common';
import type { SkipReason } from '../decide';
import { ForecastService, rentalKey } from '../forecast.service';
import { RenewalPrices } from './renewal-prices';
import { RenewalRecords, type Untold } from './renewal-records';

const TOLD_AT_ONCE = 1000;
/** Of so many users, each of whom takes some queries. */
const FORESEEN_AT_ONCE = 100;

/** What is announced comes due within a week. */
const DAYS_AHEAD = 8;

/**
 * Tells customers of their renewals: of each when it comes within seven days of its end, and again three days
 * and one day before when it will not work out as things are.
 */
@Injectable()
export class Announcements {
  private readonly logger = new Logger(Announcements.name);
  /** What will not work out, by user. */
  private readonly foreseen = new Map<number, ReadonlyMap<string, SkipReason>>();

  constructor(
    private readonly records: RenewalRecords,
    private readonly prices: RenewalPrices,
    private readonly forecast: ForecastService,
  ) {}

  /** Has everything be foreseen anew. */
  beginAnew(): void {
    this.foreseen.clear();
  }

  /**
   * Tells of some that nobody was told of yet, what is due first at first.
   *
   * @returns how many
   */
  async tellNext(): Promise<number> {
    const untold: Untold[] = [];
    let asked = 0;
    for (const renewal of await this.records.findUntold(TOLD_AT_ONCE)) {
      if (!this.foreseen.has(renewal.userId)) {
        if (asked >= FORESEEN_AT_ONCE) break;
        asked += 1;
        this.foreseen.set(renewal.userId, await this.obstaclesAhead(renewal.userId));
      }
      untold.push(renewal);
    }
    const book = this.prices.open();
    const told = await Promise.all(
      untold.map(async (renewal) => {
        const quote = await book.quote(renewal);
        return {
          id: renewal.id,
          days: renewal.days,
          price: typeof quote === 'string' ? null : quote.unitPrice.toString(),
          obstacle: this.foreseen.get(renewal.userId)?.get(rentalKey(renewal)) ?? null,
        };
      }),
    );
    await this.records.tell(told);
    return told.length;
  }
  /** A forecast only says what may come: when that of one customer fails, nobody's renewals wait for it. */
  private async obstaclesAhead(userId: number): Promise<ReadonlyMap<string, SkipReason>> {
    try {
      return await this.forecast.obstaclesAhead(userId, DAYS_AHEAD);
    } catch (error) {
      this.logger.error(`user ${userId}: renewals are announced without a forecast`, stackOf(error));
      return new Map();
    }
  }
}
