import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { Metrics } from '../metrics';
import { CurrentMarkups, MarkupHistoryService } from '../pricing';
import { CatalogService } from './catalog.service';

const FOLLOW_MS = 1000;
/** Twice in the time between writing a rule and its taking effect. */
const FOLLOW_RULES_MS = 500;
const REFRESH_MS = 1000;
const FORGET_MS = 60_000;

@Injectable()
export class CatalogJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly catalog: CatalogService,
    private readonly markups: CurrentMarkups,
    private readonly history: MarkupHistoryService,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Reads the store before the first request, which is then answered from what was known before the start.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.history.recordDefault();
    await this.markups.follow();
    await this.catalog.followStore();
    this.metrics.addReader((set) => {
      for (const [copy, ageMs] of Object.entries(this.catalog.agesMs())) {
        if (ageMs !== undefined) set('catalog_age_seconds', { copy }, ageMs / 1000);
      }
    });
    this.jobs.every('follow-price-rules', FOLLOW_RULES_MS, () => this.markups.follow());
    this.jobs.every('follow-catalog', FOLLOW_MS, async () => {
      await this.catalog.writeSales();
      await this.catalog.followStore();
    });
    this.jobs.every('refresh-catalog', REFRESH_MS, async () => this.catalog.refreshDue());
    this.jobs.every('forget-prices', FORGET_MS, () => this.catalog.forgetOldPrices());
  }
}
