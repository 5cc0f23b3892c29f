import type { Money } from '../common';

const HOUR_MS = 3_600_000;

/** A renewal is tried until this long before the end of its rental. */
export const LAST_TRY_MS = HOUR_MS;
/** The same as an interval of SQL. */
export const LAST_TRY_BEFORE_END = `interval '${LAST_TRY_MS} milliseconds'`;

/** A renewal is due a week before the end at most, at the beginning of that hour. */
export const MOST_HOURS_AHEAD = 7 * 24 + 1;

/** Why the renewals of a user are not carried out now, whichever proxy they are of. */
export const OBSTACLES = ['paused', 'user-blocked', 'orders-shut', 'provider-unavailable'] as const;
export type Obstacle = (typeof OBSTACLES)[number];

/** Why one proxy is not renewed now, whatever money there is. */
export const PROXY_OBSTACLES = ['proxy-withdrawn', 'order-open', 'period-not-sold', 'no-price'] as const;
export type ProxyObstacle = (typeof PROXY_OBSTACLES)[number];

/** Every reason for which a proxy that a rule holds for is not renewed. */
export const SKIP_REASONS = [
  'too-late',
  ...OBSTACLES,
  ...PROXY_OBSTACLES,
  'price-above-max',
  'budget-used-up',
  'balance-short',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** The first of the reasons that is among those found. */
export const firstOf = <Reason extends SkipReason>(
  reasons: readonly Reason[],
  found: readonly string[],
): Reason | null => reasons.find((reason) => found.includes(reason)) ?? null;

/** What there is for the renewals of a user that are decided together. */
export interface Means {
  readonly now: Date;
  /** The available balance: what is held is no part of it. */
  readonly available: Money;
  /** What is left of the budget of the month (UTC) of `now`. Null: there is no budget. */
  readonly budgetLeft: Money | null;
  readonly obstacle: Obstacle | null;
}

/** A proxy whose renewal is due. */
export interface Candidate {
  readonly proxyId: number;
  /** The end of its rental, and of this renewal. */
  readonly dateEnd: Date;
  /** The guard of the rule that holds. Null: any price. */
  readonly maxPrice: Money | null;
  /** What the customer is charged today for one proxy and the period of the rule. */
  readonly price: Money | null;
  /** What else stands in the way. */
  readonly obstacle: ProxyObstacle | null;
}

export type Decision<One extends Candidate = Candidate> =
  | { readonly candidate: One; readonly renew: true; readonly price: Money }
  | { readonly candidate: One; readonly renew: false; readonly reason: SkipReason };

/**
 * When the renewal of a rental comes due: at the beginning of the hour that lies `hoursBefore` hours before
 * its end. All that comes due in one hour is decided together, so that the announced order holds among it.
 */
export function dueAt(dateEnd: Date, hoursBefore: number): Date {
  return hourOf(new Date(dateEnd.getTime() - hoursBefore * HOUR_MS));
}

/** The same in SQL. @param dateEnd and @param hoursBefore are expressions */
export const dueAtSql = (dateEnd: string, hoursBefore: string): string =>
  `date_trunc('hour', ${dateEnd} - make_interval(hours => ${hoursBefore}), 'UTC')`;

/** The beginning of the hour of a moment. */
export const hourOf = (moment: Date): Date => new Date(Math.floor(moment.getTime() / HOUR_MS) * HOUR_MS);

/** The last moment at which a rental is renewed. */
export const lastTryAt = (dateEnd: Date): Date => new Date(dateEnd.getTime() - LAST_TRY_MS);

/** The beginning of the month (UTC) of a moment: the month of a budget. */
export const monthOf = (moment: Date): Date =>
  new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth(), 1));

/** The announced order: what ends first comes first, and of what ends together, the lower id. */
export const inAnnouncedOrder = (one: Candidate, other: Candidate): number =>
  one.dateEnd.getTime() - other.dateEnd.getTime() || one.proxyId - other.proxyId;

/**
 * Decides which of a user's due renewals are carried out now: the job does what it says, and the forecast
 * asks it for the days to come.
 *
 * The money goes to each in the announced order. What it does not suffice for is skipped, and what comes
 * behind it has its turn all the same: one dear proxy does not let all the others end.
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
  if (means.now > lastTryAt(dateEnd)) return 'too-late';
  if (means.obstacle !== null) return means.obstacle;
  if (obstacle !== null) return obstacle;
  if (price === null) return 'no-price';
  if (maxPrice !== null && price.kopecks > maxPrice.kopecks) return 'price-above-max';
  if (budgetLeft !== null && price.kopecks > budgetLeft.kopecks) return 'budget-used-up';
  if (price.kopecks > available.kopecks) return 'balance-short';
  return null;
}
