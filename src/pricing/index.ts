export { CurrentMarkups } from './current-markups';
export { DefaultMarkup, PriceRule } from './price-rule.entity';
export {
  type HeldMarkup,
  NEW_RULE_ID,
  type NewPriceRule,
  type PriceChange,
  PriceRulesService,
  type Signature,
} from './price-rules.service';
export { PricingModule } from './pricing.module';
export { type Markup, matches, type MarkupRule, type PricedOffer } from './rule-book';
