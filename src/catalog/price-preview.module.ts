import { Module } from '@nestjs/common';
import { PricingModule } from '../pricing';
import { CatalogStore } from './catalog-store';
import { PricePreviewService } from './price-preview.service';

/** Without the provider, so that the command line can use it. */
@Module({
  imports: [PricingModule],
  providers: [PricePreviewService, CatalogStore],
  exports: [PricePreviewService, CatalogStore],
})
export class PricePreviewModule {}
