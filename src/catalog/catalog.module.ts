import { Module } from '@nestjs/common';
import { Jobs } from '../jobs';
import { Metrics } from '../metrics';
import { CurrentMarkups, MarkupHistoryService, PricingModule } from '../pricing';
import { ProviderModule } from '../provider';
import { CatalogStore } from './catalog-store';
import { CatalogController } from './catalog.controller';
import { CatalogService } from './catalog.service';
import { PricePreviewService } from './price-preview.service';

/** How often price rules are polled. At least two polls happen before a new rule takes effect. */
const FOLLOW_RULES_MS = 500;
const FOLLOW_MS = 1000;
const REFRESH_MS = 1000;
const FORGET_MS = 60_000;

@Module({
  imports: [ProviderModule, PricingModule],
  controllers: [CatalogController],
  providers: [CatalogService, CatalogStore, PricePreviewService],
  exports: [CatalogService, PricePreviewService],
})
export class CatalogModule {
  constructor(
    jobs: Jobs,
    metrics: Metrics,
    catalog: CatalogService,
    markups: CurrentMarkups,
    history: MarkupHistoryService,
  ) {
    // Load the stored data before the first request.
    jobs.first(async () => {
      await history.recordDefault();
      await markups.follow();
      await catalog.followStore();
      metrics.addReader((set) => {
        for (const [copy, ageMs] of Object.entries(catalog.agesMs())) {
          if (ageMs !== undefined) set('catalog_age_seconds', { copy }, ageMs / 1000);
        }
      });
    });
    jobs.every('follow-price-rules', FOLLOW_RULES_MS, () => markups.follow(), {
      isDue: () => markups.isDue(),
    });
    const follow = async () => {
      await catalog.writeSales();
      await catalog.followStore();
    };
    jobs.every('follow-catalog', FOLLOW_MS, follow, { isDue: () => catalog.isToFollow() });
    jobs.every('refresh-catalog', REFRESH_MS, async () => catalog.refreshDue());
    jobs.every('forget-prices', FORGET_MS, () => catalog.forgetOldPrices());
  }
}
