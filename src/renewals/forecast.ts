import { inSlices, Money } from '../common';
import {
  type RenewalCandidate,
  decideRenewals,
  type RenewalDecision,
  renewalDueAt,
  hourOf,
  inAnnouncedOrder,
  lastTryAt,
  type RenewalFunds,
  monthOf,
} from './renewal-decision';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Number of items processed before yielding to other requests: a few milliseconds of work. */
export const ITEMS_AT_ONCE = 1000;

export type Rental = RenewalCandidate & {
  readonly ruleId: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  readonly hoursBefore: number;
};

export interface ForecastFunds extends Omit<RenewalFunds, 'budgetLeft'> {
  readonly budget: { readonly monthly: Money; readonly left: Money } | null;
}

export interface ForecastHour {
  /** Start of the hour; the current time for the first hour. */
  readonly at: Date;
  /** Ordered by expiry. */
  readonly decisions: readonly RenewalDecision<Rental>[];
  /** Balance after these decisions. */
  readonly available: Money;
}

/** Names each field, because a spread would make forecasts take twice as long. */
const renewed = ({
  proxyId,
  dateEnd,
  ruleId,
  period,
  hoursBefore,
  maxPrice,
  price,
  obstacle,
}: Rental): Rental => ({
  proxyId,
  dateEnd: new Date(dateEnd.getTime() + period * DAY_MS),
  ruleId,
  period,
  hoursBefore,
  maxPrice,
  price,
  obstacle,
});

const nextMonthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 1));

/**
 * Simulates the coming days hour by hour, making the same decisions as the job. Assumes that obstacles,
 * prices and rules do not change, that the customer makes no purchases or deposits, and that no call fails.
 * @param onHour called in chronological order
 * @returns the expiry of the first rental whose renewal the balance cannot cover; null if it covers all
 */
export async function runForecast(
  { now, obstacle, budget, available: left }: ForecastFunds,
  rentals: readonly Rental[],
  days: number,
  onHour: (hour: ForecastHour) => void = () => undefined,
): Promise<Date | null> {
  const first = hourOf(now).getTime();
  const end = now.getTime() + days * DAY_MS;
  const due: (Rental[] | undefined)[] = Array.from({ length: days * 24 + 1 });
  const add = (rental: Rental, from: number): void => {
    const hour = (renewalDueAt(rental.dateEnd, rental.hoursBefore).getTime() - first) / HOUR_MS;
    const index = Math.max(hour, from);
    if (index < due.length) (due[index] ??= []).push(rental);
  };
  for (const rental of rentals) add(rental, 0);
  let available = left;
  let budgetLeft = budget?.left ?? null;
  let month = monthOf(now).getTime();
  let unpaid: Date | null = null;
  for (let index = 0; index < due.length; index++) {
    const dueNow = due[index];
    due[index] = undefined;
    if (!dueNow) continue;
    const at = index === 0 ? now : new Date(first + index * HOUR_MS);
    if (at.getTime() > end) break;
    if (monthOf(at).getTime() !== month) {
      month = monthOf(at).getTime();
      budgetLeft = budget?.monthly ?? null;
    }
    const nextMonth = nextMonthOf(at);
    const decisions: RenewalDecision<Rental>[] = [];
    // Decide in slices, to yield to other requests. Sorting first makes the result independent of slicing.
    for await (const some of inSlices(dueNow.sort(inAnnouncedOrder), ITEMS_AT_ONCE)) {
      for (const decision of decideRenewals({ now: at, available, budgetLeft, obstacle }, some)) {
        const { candidate } = decision;
        const { dateEnd } = candidate;
        if (decision.renew) {
          available = available.minus(decision.price);
          budgetLeft = budgetLeft && budgetLeft.minus(decision.price);
          add(renewed(candidate), index + 1);
        } else if (
          decision.reason === 'budget-used-up' &&
          nextMonth.getTime() <= Math.min(lastTryAt(dateEnd).getTime(), end)
        ) {
          add(candidate, (nextMonth.getTime() - first) / HOUR_MS);
          continue;
        } else if (decision.reason === 'balance-short' && (unpaid === null || dateEnd < unpaid)) {
          unpaid = dateEnd;
        }
        decisions.push(decision);
      }
    }
    onHour({ at, decisions, available });
  }
  return unpaid;
}

/** How many days ahead a balance is simulated. */
export const BALANCE_DAYS = 365;

/** Rentals that expire on the same day and are renewed for the same period. */
export interface EndingRentals {
  /** In days from today. */
  readonly day: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  /** Cost of renewing all these rentals once. */
  readonly cost: Money;
}

/** Returns the first day, counted from today, whose renewals the balance cannot pay; null if none. */
export function firstUnpaidDay(available: Money, rentals: readonly EndingRentals[]): number | null {
  // Sum costs by day and period, so that the running time does not grow with the number of rentals.
  const due = Array.from({ length: BALANCE_DAYS }, () => new Map<number, Money>());
  const add = (day: number, period: number, cost: Money): void => {
    const costs = due[day];
    costs?.set(period, (costs.get(period) ?? Money.zero).plus(cost));
  };
  for (const { day, period, cost } of rentals) add(day, period, cost);
  let left = available;
  for (const [day, costs] of due.entries()) {
    for (const [period, cost] of costs) {
      if (cost.kopecks > left.kopecks) return day;
      left = left.minus(cost);
      add(day + period, period, cost);
    }
  }
  return null;
}
