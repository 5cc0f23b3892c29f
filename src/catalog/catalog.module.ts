import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { AuthModule } from '../auth';
import { PricingModule } from '../pricing';
import { ProviderModule } from '../provider';
import { CatalogController } from './catalog.controller';
import { CatalogJobs } from './catalog.jobs';
import { CatalogService } from './catalog.service';
import { PricePreviewModule } from './price-preview.module';
import { RecalledAnswers } from './recalled-answers';

@Module({
  imports: [AuthModule, ProviderModule, PricingModule, PricePreviewModule],
  controllers: [CatalogController],
  providers: [CatalogService, CatalogJobs, RecalledAnswers],
  exports: [CatalogService, PricePreviewModule],
})
export class CatalogModule implements NestModule {
  constructor(private readonly recalled: RecalledAnswers) {}

  configure(consumer: MiddlewareConsumer): void {
    // As a class it would be made a second time.
    consumer.apply(this.recalled.answer).forRoutes(CatalogController);
  }
}
