import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CurrentMarkups } from './current-markups';
import { PriceRule } from './price-rule.entity';
import { PriceRulesService } from './price-rules.service';

/** Has no jobs, so that the command line can use it; who serves prices follows the rules. */
@Module({
  imports: [TypeOrmModule.forFeature([PriceRule])],
  providers: [CurrentMarkups, PriceRulesService],
  exports: [CurrentMarkups, PriceRulesService],
})
export class PricingModule {}
