import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../auth';
import { CatalogService, type PriceList, toIpVersion } from '../catalog';
import { Clock, Money } from '../common';
import { preparedRow, preparedRows } from '../database';
import { SHOWN_KIND_SQL } from '../ledger';
import { firstUnpaidDay } from '../renewals';
import type { EndingOut, RentalsOut, SpentPartOut, TokenUsageOut, UsageOut } from './usage.dto';

interface Books {
  readonly now: Date;
  readonly available: string;
  readonly held: string;
  readonly today: string;
  readonly thisMonth: string;
  readonly by: readonly SpentPartOut[];
  readonly token: TokenUsageOut | null;
}

interface RentalGroup {
  readonly country: string;
  readonly version: string;
  readonly period: number;
  /** Number of days from today until the rentals end. */
  readonly day: number;
  /** First of the {@link WINDOWS} in which the rentals end; null if they end later. */
  readonly within: number | null;
  readonly rentals: number;
}

const WINDOWS = [1, 7, 30] as const;
const DAY_MS = 86_400_000;

const inUtc = (moment: string): string => `(${moment}) AT TIME ZONE 'UTC'`;
const TODAY = `(${inUtc('now()')})::date`;
const MONTH_BEGAN = inUtc(`date_trunc('month', ${inUtc('now()')})`);
const TODAY_BEGAN = inUtc(`${TODAY}::timestamp`);

/** `$1` is the user, `$2` the token, `$3` the token's ancestors with limits. */
const READ_BOOKS = `
  WITH parts AS (
    SELECT country, version, sum(amount) AS this_month,
           coalesce(sum(amount) FILTER (WHERE at >= ${TODAY_BEGAN}), 0.00) AS today
      FROM (SELECT country, version, captured AS amount, closed_at AS at FROM orders
             WHERE user_id = $1 AND captured > 0 AND closed_at >= ${MONTH_BEGAN}
            UNION ALL
            SELECT country, version, -available_delta, refunds.created_at
              FROM (SELECT order_id, available_delta, created_at FROM ledger_entries
                     WHERE user_id = $1 AND ${SHOWN_KIND_SQL} = 'refund'
                       AND created_at >= ${MONTH_BEGAN}) AS refunds
              JOIN orders ON orders.id = refunds.order_id) AS spent
     GROUP BY country, version
  ),
  own AS (
    SELECT daily_limit, coalesce(spent, 0.00) AS spent
      FROM api_tokens token LEFT JOIN token_spending ON token_id = token.id AND day = ${TODAY}
     WHERE token.id = $2 AND daily_limit IS NOT NULL
  )
  SELECT now() AS now, available, held,
         (SELECT coalesce(sum(today), 0.00) FROM parts) AS today,
         (SELECT coalesce(sum(this_month), 0.00) FROM parts) AS "thisMonth",
         (SELECT coalesce(json_agg(json_build_object('country', country, 'version', version,
                                                     'today', today::text, 'this_month', this_month::text)
                                   ORDER BY country, version), '[]') FROM parts) AS by,
         (SELECT json_build_object('daily_limit', daily_limit::text, 'used_today', spent::text, 'left_today',
                                   daily_limit_left($2::bigint || $3::bigint[])::text)
            FROM own) AS token
    FROM accounts WHERE user_id = $1`;

/** Start of the UTC day on which the rental ends. date_bin() is faster than converting each row to UTC. */
const LAST_DAY = `date_bin('1 day', date_end, 'epoch')`;

/** `$1` is the user, `$2` the current time. */
const READ_RENTALS = `
  SELECT country, version, period,
         (${inUtc(LAST_DAY)})::date - (${inUtc('$2::timestamptz')})::date AS day,
         CASE ${WINDOWS.map(
           (days) => `WHEN date_end <= $2::timestamptz + interval '${days * 24} hours' THEN ${days}`,
         ).join(' ')} END AS within,
         count(*) AS rentals
    FROM proxies WHERE user_id = $1 AND date_end > $2 AND withdrawn_at IS NULL
   GROUP BY 1, 2, 3, ${LAST_DAY}, 5`;

@Injectable()
export class UsageService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly catalog: CatalogService,
    private readonly clock: Clock,
  ) {}

  async read({ userId, tokenId, limitedBy }: Caller): Promise<UsageOut> {
    const now = this.clock.now();
    const [found, groups, prices] = await Promise.all([
      preparedRow<Books>(this.dataSource, READ_BOOKS, [userId, tokenId, limitedBy]),
      preparedRows<RentalGroup>(this.dataSource, READ_RENTALS, [userId, now]),
      this.catalog.priceList(userId),
    ]);
    const { available, held, today, thisMonth, by, token } = found;
    return {
      as_of: found.now,
      available,
      held,
      spent: { today, this_month: thisMonth, by },
      token,
      rentals: toRentals(groups, prices, Money.parse(available), now),
    };
  }
}

function toRentals(
  groups: readonly RentalGroup[],
  prices: PriceList,
  available: Money,
  now: Date,
): RentalsOut {
  const priced = groups.map((group) => {
    const price = prices({ ...group, version: toIpVersion(group.version) });
    return { ...group, isPriced: price !== null, cost: (price ?? Money.zero).times(group.rentals) };
  });
  const sumOf = (chosen: typeof priced): EndingOut => ({
    rentals: chosen.reduce((sum, { rentals }) => sum + rentals, 0),
    renewal_cost: chosen.reduce((sum, { cost }) => sum.plus(cost), Money.zero).toString(),
  });
  const endingIn = (days: (typeof WINDOWS)[number]): EndingOut =>
    sumOf(priced.filter(({ within }) => within !== null && within <= days));
  const all = sumOf(priced);
  const unpaid = firstUnpaidDay(available, priced);
  return {
    active: all.rentals,
    renewal_cost: all.renewal_cost,
    unpriced: sumOf(priced.filter(({ isPriced }) => !isPriced)).rentals,
    ending: { in_24_hours: endingIn(1), in_7_days: endingIn(7), in_30_days: endingIn(30) },
    balance_lasts_until:
      unpaid === null ? null : new Date(now.getTime() + unpaid * DAY_MS).toISOString().slice(0, 10),
  };
}
