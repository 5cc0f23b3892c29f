import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config';
import { PriceRulesService } from './price-rules.service';
import { type Markup, type PricedOffer, RuleBook } from './rule-book';

/**
 * The rules as this process knows them, in memory, so that a price needs no round trip. A rule is written a second before it begins or
 * ends, and followed twice in it: all replicas change at the same moment, which is the database's.
 */
@Injectable()
export class CurrentMarkups {
  private book: RuleBook;
  private version = -1;
  /** From this process's monotonic clock to the database's: never too much, for an answer takes its time. */
  private databaseAheadMs = 0;

  constructor(
    private readonly rules: PriceRulesService,
    private readonly config: AppConfig,
  ) {
    this.book = new RuleBook([], config.pricing.markupPercent);
  }

  /** To be called before the first price. */
  async follow(): Promise<void> {
    const { version, now } = await this.rules.readVersion();
    this.databaseAheadMs = now.getTime() - performance.now();
    if (version === this.version) return;
    this.book = new RuleBook(await this.rules.listOpen(), this.config.pricing.markupPercent);
    this.version = version;
  }

  /** What holds now. */
  of(offer: PricedOffer): Markup {
    return this.book.choose(offer, performance.now() + this.databaseAheadMs);
  }
}
