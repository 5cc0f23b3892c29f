import type { Money } from '../common';

const HOUR_MS = 3_600_000;

/** Renewals are no longer attempted once less than this time remains until expiry. */
export const LAST_TRY_MS = HOUR_MS;
export const LAST_TRY_BEFORE_END_SQL = `interval '${LAST_TRY_MS} milliseconds'`;

/** A week, plus one hour because due times are rounded down to the hour. */
export const MAX_HOURS_AHEAD = 7 * 24 + 1;

/** Obstacles that apply to all of a user's proxies. */
export const COMMON_OBSTACLES = [
  'paused',
  'user-blocked',
  'closed-for-maintenance',
  'provider-unavailable',
] as const;

/** Obstacles that apply to a single proxy. */
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

export const firstObstacle = (
  obstacles: readonly RenewalObstacle[],
  found: readonly string[],
): RenewalObstacle | null => obstacles.find((obstacle) => found.includes(obstacle)) ?? null;

export interface RenewalFunds {
  readonly now: Date;
  readonly available: Money;
  /** Remaining budget for the month (UTC) of `now`; null if there is no budget. */
  readonly budgetLeft: Money | null;
  readonly obstacle: RenewalObstacle | null;
}

export interface RenewalCandidate {
  readonly proxyId: number;
  /** Expiry before this renewal. */
  readonly dateEnd: Date;
  /** Null accepts any price. */
  readonly maxPrice: Money | null;
  /** Current price of one proxy for the rule's period; null if unknown. */
  readonly price: Money | null;
  /** Obstacle of this proxy alone. */
  readonly obstacle: RenewalObstacle | null;
}

export type RenewalDecision<One extends RenewalCandidate = RenewalCandidate> =
  | { readonly candidate: One; readonly renew: true; readonly price: Money }
  | { readonly candidate: One; readonly renew: false; readonly reason: RenewalObstacle };

/** Rounds down to the hour: renewals due in the same hour are decided together, in order of expiry. */
export function renewalDueAt(dateEnd: Date, hoursBefore: number): Date {
  return new Date(Math.floor(dateEnd.getTime() / HOUR_MS - hoursBefore) * HOUR_MS);
}

/** Must match `renewalDueAt`. Both parameters are SQL expressions. */
export const renewalDueAtSql = (dateEnd: string, hoursBefore: string): string =>
  `date_trunc('hour', ${dateEnd} - make_interval(hours => ${hoursBefore}), 'UTC')`;

export const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS);

export const lastTryAt = (dateEnd: Date): Date => new Date(dateEnd.getTime() - LAST_TRY_MS);

/** Budgets apply to calendar months (UTC). */
export const monthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));

/** Sorts renewals in the order announced to customers: by expiry, then by id. */
export const inAnnouncedOrder = (one: RenewalCandidate, other: RenewalCandidate): number =>
  one.dateEnd.getTime() - other.dateEnd.getTime() || one.proxyId - other.proxyId;

/**
 * Decides on a user's due renewals in order of expiry, for both the job and the forecast. Skips each renewal
 * that the remaining money does not cover, so that an expensive proxy does not block cheaper ones.
 * @param candidates all of the user's candidates, in any order
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
