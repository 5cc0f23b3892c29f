import type { Money } from '../common';

const HOUR_MS = 3_600_000;

/** A renewal is tried until this long before the end of its rental. */
export const LAST_TRY_MS = HOUR_MS;
/** The same as an SQL interval. */
export const LAST_TRY_BEFORE_END = `interval '${LAST_TRY_MS} milliseconds'`;

/** A renewal is due at most a week before the end, at the beginning of that hour. */
export const MOST_HOURS_AHEAD = 7 * 24 + 1;

/** Why no proxy of a user is renewed now. */
export const OBSTACLES = [
  'paused',
  'user-blocked',
  'closed-for-maintenance',
  'provider-unavailable',
] as const;
export type Obstacle = (typeof OBSTACLES)[number];

/** Why one proxy is not renewed now, regardless of money. */
export const PROXY_OBSTACLES = [
  'proxy-withdrawn',
  'refund-open',
  'order-open',
  'period-not-sold',
  'no-price',
] as const;
export type ProxyObstacle = (typeof PROXY_OBSTACLES)[number];

/** Every reason why a proxy with a rule is not renewed. */
export const SKIP_REASONS = [
  'too-late',
  ...OBSTACLES,
  ...PROXY_OBSTACLES,
  'price-above-max',
  'budget-used-up',
  'balance-short',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** The first of the reasons that was found. */
export const firstOf = <Reason extends SkipReason>(
  reasons: readonly Reason[],
  found: readonly string[],
): Reason | null => reasons.find((reason) => found.includes(reason)) ?? null;

/** The means for the renewals of a user that are decided together. */
export interface Means {
  readonly now: Date;
  /** The available balance, without holds. */
  readonly available: Money;
  /** The rest of the budget for the month (UTC) of `now`; `null` without a budget. */
  readonly budgetLeft: Money | null;
  readonly obstacle: Obstacle | null;
}

/** A proxy whose renewal is due. */
export interface Candidate {
  readonly proxyId: number;
  /** The end of its rental, and of this renewal. */
  readonly dateEnd: Date;
  /** The guard of the rule that applies; `null` accepts any price. */
  readonly maxPrice: Money | null;
  /** The customer's price today for one proxy and the period of the rule. */
  readonly price: Money | null;
  /** Any other obstacle. */
  readonly obstacle: ProxyObstacle | null;
}

export type Decision<One extends Candidate = Candidate> =
  | { readonly candidate: One; readonly renew: true; readonly price: Money }
  | { readonly candidate: One; readonly renew: false; readonly reason: SkipReason };

/**
 * When the renewal of a rental becomes due: at the beginning of the hour that lies `hoursBefore` hours before
 * its end. Renewals that become due in one hour are decided together, in the announced order.
 */
export function dueAt(dateEnd: Date, hoursBefore: number): Date {
  return new Date(Math.floor(dateEnd.getTime() / HOUR_MS - hoursBefore) * HOUR_MS);
}

/** The same in SQL. @param dateEnd and @param hoursBefore are expressions */
export const dueAtSql = (dateEnd: string, hoursBefore: string): string =>
  `date_trunc('hour', ${dateEnd} - make_interval(hours => ${hoursBefore}), 'UTC')`;

export const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS);

/** The last moment at which a rental is renewed. */
export const lastTryAt = (dateEnd: Date): Date => new Date(dateEnd.getTime() - LAST_TRY_MS);

/** The beginning of the month (UTC) of a moment: the month of a budget. */
export const monthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));

/** The announced order: by the end of the rental, then by id. */
export const inAnnouncedOrder = (one: Candidate, other: Candidate): number =>
  one.dateEnd.getTime() - other.dateEnd.getTime() || one.proxyId - other.proxyId;

/**
 * Decides which of a user's due renewals are executed now, for the job and for the forecast alike.
 *
 * The money is spent in the announced order. A renewal that it does not cover is skipped, and the next ones
 * still have their turn: one expensive proxy does not block the rest.
 *
 * @param candidates of one user, in any order
 * @returns a decision for each, in the announced order
 */
export function decide<One extends Candidate>(means: Means, candidates: readonly One[]): Decision<One>[] {
  let { available, budgetLeft } = means;
  return [...candidates].sort(inAnnouncedOrder).map((candidate): Decision<One> => {
    const { price } = candidate;
    const reason = skipReason(candidate, means, available, budgetLeft);
    if (reason !== null || price === null) return { candidate, renew: false, reason: reason ?? 'no-price' };
    available = available.minus(price);
    budgetLeft = budgetLeft && budgetLeft.minus(price);
    return { candidate, renew: true, price };
  });
}

function skipReason(
  { dateEnd, maxPrice, price, obstacle }: Candidate,
  means: Means,
  available: Money,
  budgetLeft: Money | null,
): SkipReason | null {
  if (means.now.getTime() > dateEnd.getTime() - LAST_TRY_MS) return 'too-late';
  if (means.obstacle !== null) return means.obstacle;
  if (obstacle !== null) return obstacle;
  if (price === null) return 'no-price';
  if (maxPrice !== null && price.kopecks > maxPrice.kopecks) return 'price-above-max';
  if (budgetLeft !== null && price.kopecks > budgetLeft.kopecks) return 'budget-used-up';
  if (price.kopecks > available.kopecks) return 'balance-short';
  return null;
}
