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

/** Number of items processed before other requests get a turn. They take some milliseconds. */
export const ITEMS_AT_ONCE = 1000;

/** A rental with the rule that applies to it, and its price. */
export type Rental = RenewalCandidate & {
  readonly ruleId: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  readonly hoursBefore: number;
};

export interface ForecastFunds extends Omit<RenewalFunds, 'budgetLeft'> {
  /** Monthly budget and its rest; `null` without a budget. */
  readonly budget: { readonly monthly: Money; readonly left: Money } | null;
}

/** Final decisions of one simulated hour. */
export interface ForecastHour {
  /** Beginning of the hour, or the current time for the first hour. */
  readonly at: Date;
  /** Decisions in the announced order. */
  readonly decisions: readonly RenewalDecision<Rental>[];
  /** Available balance after these decisions. */
  readonly available: Money;
}

/** Copies each field by name, because a spread copy would double the time of a forecast. */
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
 * Simulates the next days hour by hour. {@link decideRenewals} selects the rentals to renew, as in the job.
 * Renewed rentals become due again. A rental that the budget does not cover is tried again next month, if the
 * next month begins before the rental and the forecast end. Other obstacles are assumed to stay.
 *
 * Assumes that prices, rules, tags and labels stay the same, nothing is bought or credited, and no call
 * fails.
 *
 * @param onHour is called with the decisions of each hour, in chronological order
 * @returns the earliest rental end that the balance cannot pay for; `null` if it pays for all
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
    // Slices of the announced order, decided in sequence, give the same decisions as one pass.
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

/** Number of days, from today, for which payments from a balance are simulated. */
export const BALANCE_DAYS = 365;

/** Rentals that end on the same day and are renewed for the same period. */
export interface EndingRentals {
  /** Day on which the rentals end, in days from today. */
  readonly day: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  /** Cost of renewing all these rentals once. */
  readonly cost: Money;
}

/**
 * Returns the first day whose renewals a balance cannot pay, in days from today. Returns `null` if it can pay
 * for all of {@link BALANCE_DAYS}. Every rental is renewed each time it ends.
 *
 * Rentals with the same end day and period are simulated as one rental with the sum of their prices, so that
 * the time does not grow with the number of rentals.
 */
export async function firstUnpaidDay(
  available: Money,
  rentals: readonly EndingRentals[],
): Promise<number | null> {
  const together = new Map<string, Rental & { readonly price: Money }>();
  for (const { day, period, cost } of rentals) {
    const key = `${day} ${period}`;
    const price = (together.get(key)?.price ?? Money.zero).plus(cost);
    // Ends at noon, because an end at midnight would be too late for today's renewals.
    const dateEnd = new Date(day * DAY_MS + DAY_MS / 2);
    together.set(key, { ...ONE_RENTAL, dateEnd, period, price });
  }
  const funds = { now: new Date(0), available, budget: null, obstacle: null };
  const unpaid = await runForecast(funds, [...together.values()], BALANCE_DAYS);
  return unpaid && Math.floor(unpaid.getTime() / DAY_MS);
}

const ONE_RENTAL = { proxyId: 0, ruleId: 0, hoursBefore: 1, maxPrice: null, obstacle: null };
