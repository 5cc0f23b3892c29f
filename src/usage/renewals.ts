import { Money } from '../common';

/** How many days from today on are looked ahead for what a balance pays. */
export const HORIZON_DAYS = 365;

/** Rentals that end on one day and are renewed for one period. */
export interface Renewal {
  /** Days from today. */
  readonly day: number;
  /** Days. */
  readonly period: number;
  /** What renewing all of them costs. */
  readonly cost: Money;
}

/**
 * The first day whose renewals a balance no longer pays, in days from today, when every rental is renewed
 * again each time it ends. Null when it pays for all within the horizon.
 *
 * What counts is the cost by day and period, so that it takes no longer with very many rentals.
 */
export function firstUnpaidDay(balance: Money, renewals: readonly Renewal[]): number | null {
  const due = Array.from({ length: HORIZON_DAYS }, () => new Map<number, Money>());
  const add = ({ day, period, cost }: Renewal): void => {
    const costs = due[day];
    costs?.set(period, (costs.get(period) ?? Money.zero).plus(cost));
  };
  renewals.forEach(add);
  let left = balance;
  for (const [day, costs] of due.entries()) {
    for (const cost of costs.values()) left = left.minus(cost);
    if (Money.zero.minus(left).isPositive()) return day;
    for (const [period, cost] of costs) add({ day: day + period, period, cost });
  }
  return null;
}
