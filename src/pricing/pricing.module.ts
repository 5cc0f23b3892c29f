import { Module } from '@nestjs/common';
import { CurrentMarkups } from './current-markups';
import { MarkupHistoryService } from './markup-history.service';
import { PriceRulesService } from './price-rules.service';

/** Starts no jobs, so that the command line can use the module. */
@Module({
  providers: [CurrentMarkups, MarkupHistoryService, PriceRulesService],
  exports: [CurrentMarkups, MarkupHistoryService, PriceRulesService],
})
export class PricingModule {}
