import type { IpVersion } from '../common';
import { LONGEST_PERIOD_DAYS, type RuleScope, SHORTEST_PERIOD_DAYS } from './markup-resolver';
import { InvalidPriceRule } from './pricing.errors';

/** Rule to be added. An omitted field of its scope matches any value. */
export interface NewPriceRule {
  readonly userId?: number | undefined;
  readonly country?: string | undefined;
  readonly version?: IpVersion | undefined;
  /** First period in days, inclusive. `maxPeriod` is the last period, inclusive. */
  readonly minPeriod?: number | undefined;
  readonly maxPeriod?: number | undefined;
  /** Markup as a decimal string from 0 to 9999 with at most four decimals. */
  readonly markupPercent: string;
  /** Start; by default in a second and a half, by which time all replicas know the rule. */
  readonly validFrom?: Date | undefined;
  /** End; by default none. */
  readonly validTo?: Date | undefined;
}

export interface PriceChangeAuthor {
  readonly by: string;
  readonly reason: string;
}

/** Change that adds a rule, ends a rule, or replaces the ended rule with the new one. */
export interface PriceChange {
  readonly add?: NewPriceRule | undefined;
  /** Id of the rule to end. */
  readonly end?: number | undefined;
}

/** Reads a rule's scope and markup. The request's validation checks other bounds. @throws InvalidPriceRule */
export function readNewRule(rule: NewPriceRule): RuleScope & { readonly markupPercent: string } {
  const { userId = null, version = null, minPeriod = null, maxPeriod = null, markupPercent } = rule;
  const country = rule.country?.toLowerCase() ?? null;
  if (minPeriod !== null && maxPeriod !== null && minPeriod > maxPeriod) throw invalidPeriods();
  return { userId, country, version, minPeriod, maxPeriod, markupPercent: toStoredPercent(markupPercent) };
}

export const invalidPeriods = () =>
  new InvalidPriceRule(
    `The periods must be whole numbers from ${SHORTEST_PERIOD_DAYS} to ${LONGEST_PERIOD_DAYS}, ` +
      'the first not above the last',
  );

export const noPriceChange = () => new InvalidPriceRule('Name a rule to add, a rule to end, or both');

/** Formats a percentage as PostgreSQL shows a numeric(8,4) column. */
export function toStoredPercent(percent: string): string {
  const [whole, fraction = ''] = percent.split('.');
  return `${Number(whole)}.${fraction.padEnd(4, '0')}`;
}
