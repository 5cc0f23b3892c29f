import { Module } from '@nestjs/common';
import { PricingModule } from '../pricing';
import { PricePreviewService } from './price-preview.service';
import { SharedCopies } from './shared-copies';

/** Asks the provider for nothing, so that the command line can use it. */
@Module({
  imports: [PricingModule],
  providers: [PricePreviewService, SharedCopies],
  exports: [PricePreviewService, SharedCopies],
})
export class PricePreviewModule {}
