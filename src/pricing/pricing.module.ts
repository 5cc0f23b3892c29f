import { Module } from '@nestjs/common';
import { CurrentMarkups } from './current-markups';
import { MarkupHistoryService } from './markup-history.service';
import { PriceRulesService } from './price-rules.service';

/** Provides price rules. The module starts no jobs, so that the command line can use it. */
@Module({
  providers: [CurrentMarkups, MarkupHistoryService, PriceRulesService],
  exports: [CurrentMarkups, MarkupHistoryService, PriceRulesService],
})
export class PricingModule {}
