import { compareDecimals, type IpVersion } from '../common';
import type { PriceRule } from './price-rule';

/** A `null` field matches any value. */
export type RuleScope = Pick<PriceRule, 'userId' | 'country' | 'version' | 'minPeriod' | 'maxPeriod'>;

export type MarkupRule = RuleScope & Pick<PriceRule, 'id' | 'markupPercent' | 'validFrom' | 'validTo'>;

export interface PricedOffer {
  /** `null` for any user without rules of their own. */
  readonly userId: number | null;
  /** Lower case; `null` for a quote, which names no country. */
  readonly country: string | null;
  readonly version: IpVersion;
  /** In days. */
  readonly period: number;
}

export interface Markup {
  readonly percent: string;
  /** `null` for the default markup. */
  readonly ruleId: number | null;
}

export const SHORTEST_PERIOD_DAYS = 1;
export const LONGEST_PERIOD_DAYS = 3650;

/** A rule that covers fewer periods is more specific. */
export const periodsOf = ({ minPeriod, maxPeriod }: RuleScope): number =>
  (maxPeriod ?? LONGEST_PERIOD_DAYS) - (minPeriod ?? SHORTEST_PERIOD_DAYS) + 1;

const holdsAt = ({ validFrom, validTo }: MarkupRule, atMs: number): boolean =>
  validFrom.getTime() <= atMs && (validTo === null || atMs < validTo.getTime());

const includes = ({ minPeriod, maxPeriod }: RuleScope, period: number): boolean =>
  (minPeriod ?? SHORTEST_PERIOD_DAYS) <= period && period <= (maxPeriod ?? LONGEST_PERIOD_DAYS);

const keyOf = (userId: number | null, country: string | null, version: IpVersion | null): string =>
  `${userId ?? '*'}/${country ?? '*'}/${version ?? '*'}`;

const orAll = <Value>(value: Value | null): readonly (Value | null)[] =>
  value === null ? [null] : [value, null];

/**
 * Chooses the most specific rule: by user, then country, then version, then fewest periods, then newest. A
 * rule for a country applies only if it is cheaper than the quote, because a quote is a maximum.
 */
export class MarkupResolver {
  /** Keyed by user, country and version. In each list, more specific rules come first. */
  private readonly rules = new Map<string, MarkupRule[]>();

  constructor(
    rules: readonly MarkupRule[],
    private readonly defaultPercent: string,
  ) {
    const sorted = [...rules].sort((one, other) => periodsOf(one) - periodsOf(other) || other.id - one.id);
    for (const rule of sorted) {
      const key = keyOf(rule.userId, rule.country, rule.version);
      const bucket = this.rules.get(key);
      if (bucket) bucket.push(rule);
      else this.rules.set(key, [rule]);
    }
  }

  choose(offer: PricedOffer, atMs: number): Markup {
    const quoted = this.toMarkup(this.findMostSpecific({ ...offer, country: null }, atMs));
    if (offer.country === null) return quoted;
    const here = this.toMarkup(this.findMostSpecific(offer, atMs));
    return compareDecimals(here.percent, quoted.percent) < 0 ? here : quoted;
  }

  /** Returns the id of the country's rule if the rule would cost more than the quote, otherwise `null`. */
  findDearerRuleId(offer: PricedOffer, atMs: number): number | null {
    const rule = this.findMostSpecific(offer, atMs);
    if (!rule || rule.country === null) return null;
    return this.choose(offer, atMs).ruleId === rule.id ? null : rule.id;
  }

  /** Returns a country's rule even if the quote is cheaper. */
  findMostSpecific(offer: PricedOffer, atMs: number): MarkupRule | undefined {
    for (const userId of orAll(offer.userId)) {
      for (const country of orAll(offer.country)) {
        for (const version of orAll(offer.version)) {
          const bucket = this.rules.get(keyOf(userId, country, version));
          const rule = bucket?.find((one) => includes(one, offer.period) && holdsAt(one, atMs));
          if (rule) return rule;
        }
      }
    }
    return undefined;
  }

  private toMarkup(rule: MarkupRule | undefined): Markup {
    return rule
      ? { percent: rule.markupPercent, ruleId: rule.id }
      : { percent: this.defaultPercent, ruleId: null };
  }
}

export const ruleApplies = (rule: RuleScope, offer: PricedOffer): boolean =>
  (rule.userId === null || rule.userId === offer.userId) &&
  (rule.country === null || rule.country === offer.country) &&
  (rule.version === null || rule.version === offer.version) &&
  includes(rule, offer.period);
