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

/** Number of items to process (a few milliseconds of work) before yielding to other requests. */
export const ITEMS_AT_ONCE = 1000;

export type Rental = RenewalCandidate & {
  readonly ruleId: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  readonly hoursBefore: number;
};

export interface ForecastFunds extends Omit<RenewalFunds, 'budgetLeft'> {
  /** Monthly budget and its remainder; `null` if there is no budget. */
  readonly budget: { readonly monthly: Money; readonly left: Money } | null;
}

/** Decisions of one simulated hour. */
export interface ForecastHour {
  /** Start of the hour; the current time for the first hour. */
  readonly at: Date;
  /** Decisions, ordered by expiry. */
  readonly decisions: readonly RenewalDecision<Rental>[];
  /** Available balance after these decisions. */
  readonly available: Money;
}

/** Copies each field by name. A spread would make a forecast take twice as long. */
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
 * Simulates the next days hour by hour with {@link decideRenewals}, as the job does. Renewed rentals become
 * due again. A rental that the budget does not cover is tried again next month, if the rental and the
 * forecast last until then. Assumes that other obstacles, prices, rules, tags and labels stay the same,
 * nothing is bought or credited, and no call fails.
 * @param onHour called with each hour's decisions, in chronological order
 * @returns the earliest expiry that the balance cannot pay for; `null` if it pays for all
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
    // Sorted by expiry, the rentals can be decided slice by slice with the same results as in one pass.
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

/** Rentals that expire on the same day and are renewed for the same period. */
export interface EndingRentals {
  /** Day of expiry, in days from today. */
  readonly day: number;
  /** Period of each renewal, in days. */
  readonly period: number;
  /** Cost of renewing all these rentals once. */
  readonly cost: Money;
}

/**
 * Returns the first day, counted from today, whose renewals a balance cannot pay; `null` if it pays for all
 * of {@link BALANCE_DAYS}. Every rental is renewed each time it expires. Rentals with the same expiry day and
 * period are simulated as one, so that the time does not grow with their number.
 */
export async function firstUnpaidDay(
  available: Money,
  rentals: readonly EndingRentals[],
): Promise<number | null> {
  const together = new Map<string, Rental & { readonly price: Money }>();
  for (const { day, period, cost } of rentals) {
    const key = `${day} ${period}`;
    const price = (together.get(key)?.price ?? Money.zero).plus(cost);
    // Noon: a rental that expired at midnight, when the forecast begins, could not be renewed that day.
    const dateEnd = new Date(day * DAY_MS + DAY_MS / 2);
    together.set(key, { ...ONE_RENTAL, dateEnd, period, price });
  }
  const funds = { now: new Date(0), available, budget: null, obstacle: null };
  const unpaid = await runForecast(funds, [...together.values()], BALANCE_DAYS);
  return unpaid && Math.floor(unpaid.getTime() / DAY_MS);
}

const ONE_RENTAL = { proxyId: 0, ruleId: 0, hoursBefore: 1, maxPrice: null, obstacle: null };
