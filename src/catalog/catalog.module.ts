import { Module } from '@nestjs/common';
import { PricingModule } from '../pricing';
import { ProviderModule } from '../provider';
import { CatalogController } from './catalog.controller';
import { CatalogJobs } from './catalog.jobs';
import { CatalogService } from './catalog.service';
import { PricePreviewModule } from './price-preview.module';

@Module({
  imports: [ProviderModule, PricingModule, PricePreviewModule],
  controllers: [CatalogController],
  providers: [CatalogService, CatalogJobs],
  exports: [CatalogService, PricePreviewModule],
})
export class CatalogModule {}
