import type { IpVersion } from '../common';
import { InvalidPriceRule } from './pricing.errors';
import { LONGEST_PERIOD_DAYS, type RuleScope, SHORTEST_PERIOD_DAYS } from './rule-book';

/** A rule to be added. An omitted field of its scope matches all. */
export interface NewPriceRule {
  readonly userId?: number | undefined;
  readonly country?: string | undefined;
  readonly version?: IpVersion | undefined;
  /** The first and the last period in days, both included. */
  readonly minPeriod?: number | undefined;
  readonly maxPeriod?: number | undefined;
  /** A decimal string from 0 to 9999 with at most four decimals. */
  readonly markupPercent: string;
  /** By default in a second and a half, when all replicas can know of it. */
  readonly validFrom?: Date | undefined;
  /** By default without an end. */
  readonly validTo?: Date | undefined;
}

/** The author of a change, and the reason. */
export interface Signature {
  readonly by: string;
  readonly reason: string;
}

/** A rule to be added, one to be ended, or both: then the new one replaces the other. */
export interface PriceChange {
  readonly add?: NewPriceRule | undefined;
  /** The id of a rule. */
  readonly end?: number | undefined;
}

/** The validated request has the other bounds. @throws InvalidPriceRule */
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

export const noPriceChange = () => new InvalidPriceRule('Name a rule to add, one to end, or both');

/** The text of a percentage in a column of type numeric(8,4). */
export function toStoredPercent(percent: string): string {
  const [whole, fraction = ''] = percent.split('.');
  return `${Number(whole)}.${fraction.padEnd(4, '0')}`;
}
