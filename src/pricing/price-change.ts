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

/** @throws InvalidPriceRule */
export function readNewRule(rule: NewPriceRule): RuleScope & { readonly markupPercent: string } {
  const { userId = null, version = null, minPeriod = null, maxPeriod = null, markupPercent } = rule;
  const country = rule.country?.toLowerCase() ?? null;
  if (!/^\d{1,4}(\.\d{1,4})?$/.test(markupPercent)) {
    throw new InvalidPriceRule('The markup must be a decimal number from 0 to 9999, e.g. 12.5');
  }
  if (country !== null && !/^[a-z]{2,4}$/.test(country)) {
    throw new InvalidPriceRule('The country must be a code of 2 to 4 letters');
  }
  const periods = [minPeriod ?? SHORTEST_PERIOD_DAYS, maxPeriod ?? LONGEST_PERIOD_DAYS] as const;
  const areInRange = periods.every(
    (days) => Number.isInteger(days) && days >= SHORTEST_PERIOD_DAYS && days <= LONGEST_PERIOD_DAYS,
  );
  if (!areInRange || periods[0] > periods[1]) throw invalidPeriods();
  return { userId, country, version, minPeriod, maxPeriod, markupPercent: toStoredPercent(markupPercent) };
}

export const invalidPeriods = () =>
  new InvalidPriceRule(
    `The periods must be whole numbers from ${SHORTEST_PERIOD_DAYS} to ${LONGEST_PERIOD_DAYS}, ` +
      'the first not above the last',
  );

export const noPriceChange = () => new InvalidPriceRule('Name a rule to add, one to end, or both');

/** @throws InvalidPriceRule */
export function assertSigned({ by, reason }: Signature): void {
  if (by.trim() === '' || reason.trim() === '') {
    throw new InvalidPriceRule('A change of prices must name its author and its reason');
  }
}

/** The text of a percentage in a column of type numeric(8,4). */
export function toStoredPercent(percent: string): string {
  const [whole, fraction = ''] = percent.split('.');
  return `${Number(whole)}.${fraction.padEnd(4, '0')}`;
}
