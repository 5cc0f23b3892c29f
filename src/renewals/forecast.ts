import { inSlices, Money } from '../common';
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
  type SkipReason,
} from './decide';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The size of a slice, after which other requests have their turn: some milliseconds of work. */
export const AT_ONCE = 1000;

/** The terms of the rule that applies to a rental, and the price. */
type Terms = Omit<Candidate, 'proxyId' | 'dateEnd'> & {
  readonly ruleId: number;
  /** Days. */
  readonly period: number;
  readonly hoursBefore: number;
};

/** A rental with the rule that applies to it. */
export type Rental = Terms & Pick<Candidate, 'proxyId' | 'dateEnd'>;

/** Rentals with the same terms that end in the same hour: when renewed, they become due together again. */
export interface Lot {
  readonly terms: Terms;
  readonly ids: readonly number[];
  /** The end of each, in milliseconds, without the time that renewals have added. */
  readonly ends: readonly number[];
  /** The time that renewals have added. */
  readonly addedMs: number;
}

/** A decision that applies to each rental of a lot. */
export type LotDecision =
  | { readonly lot: Lot; readonly renew: true; readonly price: Money }
  | { readonly lot: Lot; readonly renew: false; readonly reason: SkipReason };

const rentalAt = ({ terms, ids, ends, addedMs }: Lot, at: number): Rental => ({
  ...terms,
  proxyId: ids[at] ?? 0,
  dateEnd: new Date((ends[at] ?? 0) + addedMs),
});

/** Each rental of a lot with its decision. */
export const decisionsOf = ({ lot, ...decision }: LotDecision): Decision<Rental>[] =>
  lot.ids.map((_, at) => ({ ...decision, candidate: rentalAt(lot, at) }));

/** The part of a lot that satisfies a condition. */
function partOf(lot: Lot, isPart: (at: number) => boolean): Lot {
  const chosen = [...lot.ids.keys()].filter(isPart);
  const of = (values: readonly number[]): number[] => chosen.map((at) => values[at] ?? 0);
  return chosen.length === lot.ids.length ? lot : { ...lot, ids: of(lot.ids), ends: of(lot.ends) };
}

/** Joins groups of rentals that have the same terms and end in the same hour. */
export async function joinLots(groups: Iterable<Lot>): Promise<Lot[]> {
  const lots = new Map<string, Lot & { ids: number[]; ends: number[] }>();
  for await (const some of inSlices(groups, AT_ONCE)) {
    for (const { terms, ids, ends, addedMs } of some) {
      const { ruleId, period, hoursBefore, maxPrice, price, obstacle } = terms;
      const hour = Math.floor((ends[0] ?? 0) / HOUR_MS);
      const key = [hour, ruleId, period, hoursBefore, maxPrice, price, obstacle].join();
      const lot = lots.get(key) ?? { terms, ids: [], ends: [], addedMs };
      lots.set(key, lot);
      for (const id of ids) lot.ids.push(id);
      for (const end of ends) lot.ends.push(end);
    }
  }
  return [...lots.values()];
}

export interface Funds extends Omit<Means, 'budgetLeft'> {
  /** `null` without a budget. */
  readonly budget: { readonly monthly: Money; readonly left: Money } | null;
}

/** The final decisions of one hour. */
export interface ForecastHour {
  /** The hour in which it is due, or now. */
  readonly at: Date;
  readonly decisions: readonly LotDecision[];
  /** The available balance afterwards. */
  readonly available: Money;
}

const nextMonthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 1));

const isNegative = (amount: Money | null): boolean => amount !== null && amount.kopecks < 0n;

const costOf = (decisions: readonly LotDecision[]): Money =>
  decisions.reduce(
    (sum, decision) => (decision.renew ? sum.plus(decision.price.times(decision.lot.ids.length)) : sum),
    Money.zero,
  );

const without = ({ available, budgetLeft, ...means }: Means, cost: Money): Means => ({
  ...means,
  available: available.minus(cost),
  budgetLeft: budgetLeft && budgetLeft.minus(cost),
});

/** Runs {@link decide} for the first rental of each lot, as if it were alone. */
async function decideFirsts(means: Means, lots: readonly Lot[]): Promise<LotDecision[]> {
  const decisions: LotDecision[] = [];
  for await (const some of inSlices(lots, AT_ONCE)) {
    for (const lot of some) {
      const [decision] = decide(means, [rentalAt(lot, 0)]);
      if (!decision) throw new Error('a lot has no rentals');
      const { candidate: _, ...decided } = decision;
      decisions.push({ ...decided, lot });
    }
  }
  return decisions;
}

/**
 * Uses {@link decide} for the rentals of an hour. When the money covers all rentals that are affordable
 * alone, the order does not matter, and one of each lot represents it. Otherwise each is decided separately,
 * after which the money is short for whole lots: that happens a few times in a forecast.
 */
async function decideLots(means: Means, lots: readonly Lot[]): Promise<LotDecision[]> {
  const whole = await decideFirsts(means, lots);
  const left = without(means, costOf(whole));
  if (!isNegative(left.available) && !isNegative(left.budgetLeft)) {
    const skipped = whole.flatMap((decision) => (decision.renew ? [] : [decision]));
    // A rental may now fail because of the budget instead of the balance.
    const later = await decideFirsts(
      left,
      skipped.map(({ lot }) => lot),
    );
    if (later.every((one, at) => !one.renew && one.reason === skipped[at]?.reason)) return whole;
  }
  return decideEach(means, lots);
}

async function decideEach(means: Means, lots: readonly Lot[]): Promise<LotDecision[]> {
  const candidates = lots
    .flatMap((lot) => lot.ids.map((_, at) => ({ ...rentalAt(lot, at), lot, at })))
    .sort(inAnnouncedOrder);
  const decided = new Map<Lot, Map<SkipReason | null, Set<number>>>();
  let left = means;
  // Slices of the announced order, decided one after the other, give the same decisions as all at once.
  for await (const some of inSlices(candidates, AT_ONCE)) {
    for (const decision of decide(left, some)) {
      const { lot, at } = decision.candidate;
      const reason = decision.renew ? null : decision.reason;
      if (decision.renew) left = without(left, decision.price);
      const parts = decided.get(lot) ?? new Map<SkipReason | null, Set<number>>();
      decided.set(lot, parts.set(reason, (parts.get(reason) ?? new Set()).add(at)));
    }
  }
  return [...decided].flatMap(([lot, parts]) =>
    [...parts].map(([reason, chosen]): LotDecision => {
      const part = partOf(lot, (at) => chosen.has(at));
      if (reason !== null) return { lot: part, renew: false, reason };
      return { lot: part, renew: true, price: lot.terms.price ?? Money.zero };
    }),
  );
}

/**
 * Simulates the next days: hour by hour, {@link decide} selects the due rentals to renew, as the job will.
 * Renewed rentals become due again. Rentals that the budget does not cover are tried once more when another
 * month begins before they end; no other obstacle is expected to disappear.
 *
 * It assumes that no price, rule, tag or label changes, nothing is bought or credited, and no call fails.
 *
 * @param onHour is called with the decisions of each hour, in chronological order
 */
export async function runForecast(
  { now, obstacle, ...funds }: Funds,
  lots: readonly Lot[],
  days: number,
  onHour: (hour: ForecastHour) => void,
): Promise<void> {
  const first = hourOf(now).getTime();
  const end = now.getTime() + days * DAY_MS;
  const due: (Lot[] | undefined)[] = Array.from({ length: days * 24 + 1 });
  const add = (lot: Lot, from: number): void => {
    const hour = (dueAt(rentalAt(lot, 0).dateEnd, lot.terms.hoursBefore).getTime() - first) / HOUR_MS;
    const index = Math.max(hour, from);
    if (lot.ids.length > 0 && index < due.length) (due[index] ??= []).push(lot);
  };
  for (const lot of lots) add(lot, 0);
  let { available } = funds;
  let budgetLeft = funds.budget?.left ?? null;
  let month = monthOf(now).getTime();
  for (let index = 0; index < due.length; index++) {
    const dueLots = due[index];
    due[index] = undefined;
    if (!dueLots) continue;
    const at = index === 0 ? now : new Date(first + index * HOUR_MS);
    if (at.getTime() > end) return;
    if (monthOf(at).getTime() !== month) {
      month = monthOf(at).getTime();
      budgetLeft = funds.budget?.monthly ?? null;
    }
    const means = { now: at, available, budgetLeft, obstacle };
    // Rentals already due may be too late, which may differ among those that end in the same hour.
    const decided = await (index === 0 ? decideEach : decideLots)(means, dueLots);
    ({ available, budgetLeft } = without(means, costOf(decided)));
    const nextMonth = nextMonthOf(at);
    const decisions = decided.flatMap((decision): LotDecision[] => {
      const { lot } = decision;
      if (decision.renew) add({ ...lot, addedMs: lot.addedMs + lot.terms.period * DAY_MS }, index + 1);
      if (decision.renew || decision.reason !== 'budget-used-up') return [decision];
      const isLast = (one: number): boolean => nextMonth > lastTryAt(rentalAt(lot, one).dateEnd);
      add(
        partOf(lot, (one) => !isLast(one)),
        (nextMonth.getTime() - first) / HOUR_MS,
      );
      const over = partOf(lot, isLast);
      return over.ids.length > 0 ? [{ ...decision, lot: over }] : [];
    });
    onHour({ at, decisions, available });
  }
}

/** The first end that the balance does not pay for, in milliseconds; Infinity if it pays for all. */
export function firstUnpaidEnd(decisions: readonly LotDecision[]): number {
  let first = Infinity;
  for (const decision of decisions) {
    if (decision.renew || decision.reason !== 'balance-short') continue;
    const { ends, addedMs } = decision.lot;
    for (const end of ends) first = Math.min(first, end + addedMs);
  }
  return first;
}

/** The number of days, from today, for which a balance's payments are simulated. */
export const BALANCE_DAYS = 365;

/** Rentals that end on one day and are renewed for one period. */
export interface EndingRentals {
  /** Days from today. */
  readonly day: number;
  /** Days. */
  readonly period: number;
  /** The cost of renewing all of them. */
  readonly cost: Money;
}

/**
 * The first day whose renewals a balance does not pay, in days from today, when every rental is renewed each
 * time it ends; `null` if it pays for all of {@link BALANCE_DAYS}.
 *
 * Rentals that end on one day and are renewed for one period count as one rental at the sum of their prices,
 * so that very many rentals take no longer.
 */
export async function firstUnpaidDay(
  available: Money,
  rentals: readonly EndingRentals[],
): Promise<number | null> {
  const together = new Map<string, EndingRentals>();
  for (const rental of rentals) {
    const key = `${rental.day} ${rental.period}`;
    const cost = (together.get(key)?.cost ?? Money.zero).plus(rental.cost);
    together.set(key, { ...rental, cost });
  }
  const lots = [...together.values()].map(({ day, period, cost }, id): Lot => ({
    terms: { ruleId: id, period, hoursBefore: 1, maxPrice: null, price: cost, obstacle: null },
    ids: [id],
    // Any hour that is not too late for today's renewals.
    ends: [day * DAY_MS + DAY_MS / 2],
    addedMs: 0,
  }));
  let firstUnpaid = Infinity;
  const funds = { now: new Date(0), available, budget: null, obstacle: null };
  await runForecast(funds, lots, BALANCE_DAYS, ({ decisions }) => {
    firstUnpaid = Math.min(firstUnpaid, firstUnpaidEnd(decisions));
  });
  return firstUnpaid === Infinity ? null : Math.floor(firstUnpaid / DAY_MS);
}
