import type { Money } from '../common';

const HOUR_MS = 3_600_000;

/** Renewals are no longer tried when less than this remains until the rental's expiry. */
export const LAST_TRY_MS = HOUR_MS;
/** {@link LAST_TRY_MS} as an SQL interval. */
export const LAST_TRY_BEFORE_END_SQL = `interval '${LAST_TRY_MS} milliseconds'`;

/**
 * Maximum hours between a renewal's due time and the rental's expiry: a week, plus the hour lost when due
 * times are rounded down.
 */
export const MAX_HOURS_AHEAD = 7 * 24 + 1;

/** Reasons why none of a user's proxies is renewed now. */
export const COMMON_OBSTACLES = [
  'paused',
  'user-blocked',
  'closed-for-maintenance',
  'provider-unavailable',
] as const;

/** Reasons, other than money, why a single proxy is not renewed now. */
export const PROXY_OBSTACLES = [
  'proxy-withdrawn',
  'refund-open',
  'order-open',
  'period-not-sold',
  'no-price',
] as const;

export const RENEWAL_OBSTACLES = [
  'too-late',
  ...COMMON_OBSTACLES,
  ...PROXY_OBSTACLES,
  'price-above-max',
  'budget-used-up',
  'balance-short',
] as const;
export type RenewalObstacle = (typeof RENEWAL_OBSTACLES)[number];

/** Returns the first of `obstacles` that `found` contains; `null` if none. */
export const firstObstacle = (
  obstacles: readonly RenewalObstacle[],
  found: readonly string[],
): RenewalObstacle | null => obstacles.find((obstacle) => found.includes(obstacle)) ?? null;

/** Money and obstacles for all of a user's renewals that are decided together. */
export interface RenewalFunds {
  readonly now: Date;
  /** Available balance, without held money. */
  readonly available: Money;
  /** Remaining budget for the month (UTC) of `now`; `null` if there is no budget. */
  readonly budgetLeft: Money | null;
  readonly obstacle: RenewalObstacle | null;
}

export interface RenewalCandidate {
  readonly proxyId: number;
  /** Expiry before this renewal. */
  readonly dateEnd: Date;
  /** Maximum price that the rule accepts; `null` for any price. */
  readonly maxPrice: Money | null;
  /** Customer's current price of one proxy for the rule's period; `null` if unknown. */
  readonly price: Money | null;
  /** Obstacle of this proxy alone. */
  readonly obstacle: RenewalObstacle | null;
}

export type RenewalDecision<One extends RenewalCandidate = RenewalCandidate> =
  | { readonly candidate: One; readonly renew: true; readonly price: Money }
  | { readonly candidate: One; readonly renew: false; readonly reason: RenewalObstacle };

/**
 * Returns when a rental's renewal becomes due, rounded down to a full hour. Renewals of the same hour are
 * decided together, ordered by expiry.
 */
export function renewalDueAt(dateEnd: Date, hoursBefore: number): Date {
  return new Date(Math.floor(dateEnd.getTime() / HOUR_MS - hoursBefore) * HOUR_MS);
}

/** Returns {@link renewalDueAt} in SQL. The parameters are SQL expressions. */
export const renewalDueAtSql = (dateEnd: string, hoursBefore: string): string =>
  `date_trunc('hour', ${dateEnd} - make_interval(hours => ${hoursBefore}), 'UTC')`;

export const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS);

/** Returns the last moment at which a rental can be renewed. */
export const lastTryAt = (dateEnd: Date): Date => new Date(dateEnd.getTime() - LAST_TRY_MS);

/** Returns the start of a moment's month (UTC). Budgets apply to these months. */
export const monthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));

/** Compares by expiry, then by id: the order announced to customers. */
export const inAnnouncedOrder = (one: RenewalCandidate, other: RenewalCandidate): number =>
  one.dateEnd.getTime() - other.dateEnd.getTime() || one.proxyId - other.proxyId;

/**
 * Decides which of a user's due renewals are executed now, in the job and in the forecast. Money is spent
 * first on the rentals that expire first. A renewal that the money does not cover is skipped, so that an
 * expensive proxy does not block the next ones.
 * @param candidates all candidates of one user, in any order
 * @returns a decision for each candidate, ordered by expiry
 */
export function decideRenewals<One extends RenewalCandidate>(
  funds: RenewalFunds,
  candidates: readonly One[],
): RenewalDecision<One>[] {
  let { available, budgetLeft } = funds;
  return [...candidates].sort(inAnnouncedOrder).map((candidate): RenewalDecision<One> => {
    const { price } = candidate;
    const reason = skipReason(candidate, funds, available, budgetLeft);
    if (reason !== null || price === null) return { candidate, renew: false, reason: reason ?? 'no-price' };
    available = available.minus(price);
    budgetLeft = budgetLeft && budgetLeft.minus(price);
    return { candidate, renew: true, price };
  });
}

function skipReason(
  { dateEnd, maxPrice, price, obstacle }: RenewalCandidate,
  funds: RenewalFunds,
  available: Money,
  budgetLeft: Money | null,
): RenewalObstacle | null {
  if (funds.now.getTime() > dateEnd.getTime() - LAST_TRY_MS) return 'too-late';
  if (funds.obstacle !== null) return funds.obstacle;
  if (obstacle !== null) return obstacle;
  if (price === null) return 'no-price';
  if (maxPrice !== null && price.kopecks > maxPrice.kopecks) return 'price-above-max';
  if (budgetLeft !== null && price.kopecks > budgetLeft.kopecks) return 'budget-used-up';
  if (price.kopecks > available.kopecks) return 'balance-short';
  return null;
}
