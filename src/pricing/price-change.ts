import type { IpVersion } from '../common';
import { LONGEST_PERIOD_DAYS, type RuleScope, SHORTEST_PERIOD_DAYS } from './markup-resolver';
import { InvalidPriceRule } from './pricing.errors';

/** An omitted field of the scope matches any value. */
export interface NewPriceRule {
  readonly userId?: number | undefined;
  readonly country?: string | undefined;
  readonly version?: IpVersion | undefined;
  /** In days, inclusive, like `maxPeriod`. */
  readonly minPeriod?: number | undefined;
  readonly maxPeriod?: number | undefined;
  /** Decimal string from 0 to 9999 with at most four decimals. */
  readonly markupPercent: string;
  /** Defaults to a second and a half from now. */
  readonly validFrom?: Date | undefined;
  readonly validTo?: Date | undefined;
}

export interface PriceChangeAuthor {
  readonly by: string;
  readonly reason: string;
}

/** If both fields are set, the new rule replaces the ended rule. */
export interface PriceChange {
  readonly add?: NewPriceRule | undefined;
  /** Id of the rule to end. */
  readonly end?: number | undefined;
}

/** The request's validation checks all other limits. @throws InvalidPriceRule */
export function readNewRule(rule: NewPriceRule): RuleScope & { readonly markupPercent: string } {
  const { userId = null, version = null, minPeriod = null, maxPeriod = null, markupPercent } = rule;
  const country = rule.country?.toLowerCase() ?? null;
  if (minPeriod !== null && maxPeriod !== null && minPeriod > maxPeriod) throw invalidPeriods();
  return { userId, country, version, minPeriod, maxPeriod, markupPercent: toStoredPercent(markupPercent) };
}

export const invalidPeriods = () =>
  new InvalidPriceRule(
    `The periods must be whole numbers from ${SHORTEST_PERIOD_DAYS} to ${LONGEST_PERIOD_DAYS}, and the ` +
      'shortest must not exceed the longest',
  );

export const noPriceChange = () => new InvalidPriceRule('Specify a rule to add, a rule to end, or both');

/** Formats a percentage as PostgreSQL shows a numeric(8,4) column. */
export function toStoredPercent(percent: string): string {
  const [whole, fraction = ''] = percent.split('.');
  return `${Number(whole)}.${fraction.padEnd(4, '0')}`;
}
