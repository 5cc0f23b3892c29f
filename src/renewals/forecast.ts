import { inSlices, type Money } from '../common';
import {
  type Candidate,
  decide,
  type Decision,
  dueAt,
  hourOf,
  inAnnouncedOrder,
  lastTryAt,
  type Means,
  monthOf,
} from './decide';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How many of very many are looked at before other requests have their turn: some milliseconds' worth. */
export const AT_ONCE = 1000;

/** A rental that a rule holds for. */
export interface Rental extends Candidate {
  readonly ruleId: number;
  /** Days. */
  readonly period: number;
  readonly hoursBefore: number;
}

/** What a user has for renewals. */
export interface Funds extends Omit<Means, 'budgetLeft'> {
  /** Null: there is no budget. */
  readonly budget: { readonly monthly: Money; readonly left: Money } | null;
}

/** What is decided in one hour or in a part of it, as far as it is final, in the announced order. */
export interface ForecastHour {
  /** The hour in which it is due, or now. */
  readonly at: Date;
  readonly decisions: readonly Decision<Rental>[];
  /** What is available afterwards. */
  readonly available: Money;
}

/** The month after that of a moment begins then. */
const nextMonthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 1));

/**
 * Lives through the days to come: hour by hour it has {@link decide} say which of the due rentals are
 * renewed, as the job will. What is renewed comes due again. What the budget does not suffice for has one
 * more chance when another month begins before it ends; nothing else gets better by itself.
 *
 * Prices, rules, tags and labels stay as they are, nothing is bought or credited, and no call fails.
 *
 * @param onHour is told of what is decided, in the order of time; of an hour with very many decisions, in
 * several parts
 */
export async function foresee(
  { now, obstacle, ...funds }: Funds,
  rentals: readonly Rental[],
  days: number,
  onHour: (hour: ForecastHour) => void,
): Promise<void> {
  const first = hourOf(now).getTime();
  const end = now.getTime() + days * DAY_MS;
  const due: (Rental[] | undefined)[] = Array.from({ length: days * 24 + 1 });
  const add = (rental: Rental, from: number): void => {
    const hour = (dueAt(rental.dateEnd, rental.hoursBefore).getTime() - first) / HOUR_MS;
    const index = Math.max(hour, from);
    if (index < due.length) (due[index] ??= []).push(rental);
  };
  for await (const some of inSlices(rentals, AT_ONCE)) for (const rental of some) add(rental, 0);
  let { available } = funds;
  let budgetLeft = funds.budget?.left ?? null;
  let month = monthOf(now).getTime();
  for (let index = 0; index < due.length; index++) {
    const candidates = due[index];
    due[index] = undefined;
    if (!candidates) continue;
    const at = index === 0 ? now : new Date(first + index * HOUR_MS);
    if (at.getTime() > end) return;
    if (monthOf(at).getTime() !== month) {
      month = monthOf(at).getTime();
      budgetLeft = funds.budget?.monthly ?? null;
    }
    // Slices of the announced order are decided one after the other as all of it would be at once.
    for await (const some of inSlices(candidates.sort(inAnnouncedOrder), AT_ONCE)) {
      const decisions = decide({ now: at, available, budgetLeft, obstacle }, some).filter((decision) => {
        const rental = decision.candidate;
        if (decision.renew) {
          available = available.minus(decision.price);
          budgetLeft = budgetLeft && budgetLeft.minus(decision.price);
          add({ ...rental, dateEnd: new Date(rental.dateEnd.getTime() + rental.period * DAY_MS) }, index + 1);
          return true;
        }
        if (decision.reason !== 'budget-used-up' || nextMonthOf(at) > lastTryAt(rental.dateEnd)) return true;
        add(rental, (nextMonthOf(at).getTime() - first) / HOUR_MS);
        return false;
      });
      onHour({ at, decisions, available });
    }
  }
}
