import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { SUMS, sumsByDay } from './sales-sums';
import { InvalidSalesCursor, InvalidSalesPeriod, LONGEST_PERIOD_DAYS } from './sales.errors';

export const SALES_DIMENSIONS = ['day', 'country', 'version'] as const;
export type SalesDimension = (typeof SALES_DIMENSIONS)[number];

/** Amounts are roubles, rounded to kopecks after they were summed up. */
export interface SalesFigures {
  readonly orders: number;
  /** Of the orders. */
  readonly prolongations: number;
  /** That were bought. */
  readonly proxies: number;
  readonly sales: string;
  readonly refunds: string;
  /** What the provider took. */
  readonly cost: string;
  /** Sales less refunds and cost. */
  readonly margin: string;
}

/** What is null was not asked for. */
export interface SalesRow extends SalesFigures {
  /** `2026-11-21`, of UTC. */
  readonly day: string | null;
  readonly country: string | null;
  readonly version: string | null;
}

export interface SalesQuestion {
  /** `2026-11-21`, of UTC. Itself included. */
  readonly from: string;
  /** Itself not included. */
  readonly to: string;
  /** One at least. */
  readonly by: readonly SalesDimension[];
}

export interface Sales {
  /** Of the whole period. */
  readonly total: SalesFigures;
  /** By day, the last one first, then by country, then by version. */
  readonly rows: readonly SalesRow[];
}

const DAY_MS = 86_400_000;

/** What was sold, what it cost, and what remains. */
@Injectable()
export class SalesService {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Days that are rolled up and days that are not, in one statement: a roll-up between them is seen as a whole, or not at all.
   *
   * @param page `after`: what the last row of the page before has of `by`, in the order of SALES_DIMENSIONS; without a limit all rows
   * @throws InvalidSalesPeriod, InvalidSalesCursor
   */
  async read(
    { from, to, by }: SalesQuestion,
    { after = [], limit }: { readonly after?: readonly string[]; readonly limit?: number } = {},
  ): Promise<Sales> {
    const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
    if (!(days > 0 && days <= LONGEST_PERIOD_DAYS)) throw new InvalidSalesPeriod();
    const keys = SALES_DIMENSIONS.filter((dimension) => by.includes(dimension));
    if (after.length > 0 && after.length !== keys.length) throw new InvalidSalesCursor();
    const [total, ...rows] = await queryRows<SalesRow>(
      this.dataSource,
      `WITH live AS MATERIALIZED (
         SELECT greatest($1::date, least($2::date, coalesce((SELECT rolled_to FROM sales_rollup), $1::date))) AS since
       ),
       days AS (
         SELECT ${SUMS} FROM sales_days WHERE day >= $1::date AND day < (SELECT since FROM live)
         UNION ALL ${sumsByDay('SELECT since FROM live', '$2::date')}
       ),
       sums AS MATERIALIZED (
         SELECT ${SALES_DIMENSIONS.map((name) => `${shownKey(name, keys)} AS ${name}`).join(', ')},
                grouping(${keys.join(', ')}) > 0 AS is_total, sum(purchases + prolongations)::bigint AS orders,
                sum(prolongations)::bigint AS prolongations, sum(proxies)::bigint AS proxies, sum(sales) AS sales,
                sum(refunds) AS refunds, sum(cost) AS cost
           FROM days GROUP BY GROUPING SETS ((), (${keys.join(', ')}))
       ),
       page AS (
         SELECT * FROM sums WHERE NOT is_total ${after.length > 0 ? `AND ${beyond(keys)}` : ''}
          ORDER BY day DESC, country, version LIMIT $3
       )
       SELECT day, country, version, coalesce(orders, 0) AS orders, coalesce(prolongations, 0) AS prolongations,
              coalesce(proxies, 0) AS proxies, round(coalesce(sales, 0), 2) AS sales, round(coalesce(refunds, 0), 2) AS refunds,
              round(coalesce(cost, 0), 2) AS cost, round(coalesce(sales - refunds - cost, 0), 2) AS margin
         FROM (SELECT * FROM sums WHERE is_total UNION ALL SELECT * FROM page) AS shown
        ORDER BY is_total DESC, day DESC, country, version`,
      [from, to, limit ?? null, ...after],
    );
    if (!total) throw new Error('a total was not returned');
    const { day: _day, country: _country, version: _version, ...figures } = total;
    return { total: figures, rows };
  }
}

const shownKey = (name: SalesDimension, keys: readonly SalesDimension[]): string => {
  if (!keys.includes(name)) return 'NULL::text';
  return name === 'day' ? `to_char(day, 'YYYY-MM-DD')` : name;
};

/** What comes after the row whose keys are $4 and following. */
const beyond = (keys: readonly SalesDimension[]): string => {
  const steps = keys.map((key, n) => {
    const same = keys.slice(0, n).map((before, place) => `${before} = $${4 + place}`);
    return [...same, `${key} ${key === 'day' ? '<' : '>'} $${4 + n}`].join(' AND ');
  });
  return `(${steps.join(' OR ')})`;
};
