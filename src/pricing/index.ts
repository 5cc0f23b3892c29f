export { CurrentMarkups } from './current-markups';
export { MarkupHistoryService, NEW_RULE_ID } from './markup-history.service';
export { invalidPeriods, type NewPriceRule, noPriceChange, type PriceChange } from './price-change';
export type { PriceRule } from './price-rule';
export { invalidTimes, OPEN_PRICE_RULES, PriceRulesService } from './price-rules.service';
export {
  PriceChangeTooLate,
  PriceRuleEnded,
  PriceRuleNotFound,
  PriceRuleWithoutEffect,
  TooManyPriceRules,
} from './pricing.errors';
export { PricingModule } from './pricing.module';
export { type Markup, ruleApplies, type MarkupRule, type PricedOffer } from './markup-resolver';
