export { CurrentMarkups } from './current-markups';
export { MarkupHistoryService, NEW_RULE_ID } from './markup-history.service';
export type { NewPriceRule, PriceChange } from './price-change';
export { DefaultMarkup, PriceRule } from './price-rule.entity';
export { PriceRulesService } from './price-rules.service';
export { PricingModule } from './pricing.module';
export { type Markup, matches, type MarkupRule, type PricedOffer } from './rule-book';
