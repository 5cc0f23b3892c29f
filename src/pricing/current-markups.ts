import { Injectable } from '@nestjs/common';
import { Clock, type Moment } from '../common';
import { AppConfig } from '../config';
import { type Markup, type PricedOffer, MarkupResolver } from './markup-resolver';
import { PriceRulesService } from './price-rules.service';

const READ_EVERY_MS = 5000;

/** Rules are written at least a second before they apply, so that all replicas change prices together. */
@Injectable()
export class CurrentMarkups {
  private resolver: MarkupResolver;
  private revision = -1;
  /** Database time at `readAt`, the local moment of the last read. */
  private databaseTimeMs = 0;
  private readAt: Moment;

  constructor(
    private readonly rules: PriceRulesService,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {
    this.readAt = clock.moment();
    this.resolver = new MarkupResolver([], config.pricing.markupPercent);
  }

  /** Reads the rules if they have changed. Must be called before `of` is first called. */
  async follow(): Promise<void> {
    const { revision, now } = await this.rules.readRevision();
    this.databaseTimeMs = now.getTime();
    this.readAt = this.clock.moment();
    if (revision === this.revision) return;
    this.resolver = new MarkupResolver(await this.rules.listOpen(), this.config.pricing.markupPercent);
    this.revision = revision;
  }

  /**
   * Returns an SQL condition that is true if the rules have changed. It is also true at regular intervals,
   * to correct for drift between the local clock and the database's.
   */
  isDue(): string {
    if (this.readAt.elapsedMs() > READ_EVERY_MS) return 'true';
    return `(SELECT revision FROM price_rules_revision) <> ${this.revision}`;
  }

  of(offer: PricedOffer): Markup {
    return this.resolver.choose(offer, this.databaseTimeMs + this.readAt.elapsedMs());
  }
}
