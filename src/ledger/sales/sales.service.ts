import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../../database';
import { SALES_COLUMNS, dailySalesSql } from './sales-sums';
import type { SalesFiguresOut, SalesRowOut } from './sales.dto';
import { InvalidSalesCursor, InvalidSalesPeriod, LONGEST_PERIOD_DAYS } from './sales.errors';

export const SALES_DIMENSIONS = ['day', 'country', 'version'] as const;
export type SalesDimension = (typeof SALES_DIMENSIONS)[number];

export interface SalesSelection {
  /** First day in UTC, for example `2026-11-21`. */
  readonly from: string;
  /** Last day, inclusive. */
  readonly to: string;
  readonly by: readonly SalesDimension[];
}

export interface Sales {
  readonly total: SalesFiguresOut;
  readonly rows: readonly SalesRowOut[];
}

const DAY_MS = 86_400_000;

@Injectable()
export class SalesService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Reads all days in one statement, so that a concurrent roll-up cannot change the sums.
   * @param page.after dimensions of the previous page's last row, in the order of SALES_DIMENSIONS
   * @throws InvalidSalesPeriod, InvalidSalesCursor
   */
  async read(
    { from, to, by }: SalesSelection,
    { after = [], limit }: { readonly after?: readonly string[]; readonly limit?: number } = {},
  ): Promise<Sales> {
    const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
    if (!(days > 0 && days <= LONGEST_PERIOD_DAYS)) throw new InvalidSalesPeriod();
    const keys = SALES_DIMENSIONS.filter((dimension) => by.includes(dimension));
    if (after.length > 0 && !isCursor(after, keys)) throw new InvalidSalesCursor();
    const [total, ...rows] = await queryRows<SalesRowOut>(
      this.dataSource,
      `WITH live AS MATERIALIZED (
         SELECT greatest($1::date, least($2::date + 1,
                  coalesce((SELECT rolled_to FROM sales_rollup), $1::date))) AS since
       ),
       days AS (
         SELECT ${SALES_COLUMNS} FROM sales_days WHERE day >= $1::date AND day < (SELECT since FROM live)
         UNION ALL ${dailySalesSql('SELECT since FROM live', '$2::date + 1')}
       ),
       sums AS MATERIALIZED (
         SELECT ${SALES_DIMENSIONS.map((name) => selectDimension(name, keys)).join(', ')},
                grouping(${keys.join(', ')}) > 0 AS is_total,
                sum(purchases + prolongations)::bigint AS orders,
                sum(prolongations)::bigint AS prolongations,
                sum(proxies)::bigint AS proxies, sum(sales) AS sales,
                sum(refunds) AS refunds, sum(refunds_by_rule) AS refunds_by_rule, sum(cost) AS cost
           FROM days GROUP BY GROUPING SETS ((), (${keys.join(', ')}))
       ),
       page AS (
         SELECT * FROM sums WHERE NOT is_total ${after.length > 0 ? `AND ${isAfter(keys)}` : ''}
          ORDER BY day DESC, country, version LIMIT $3
       )
       SELECT day, country, version, coalesce(orders, 0) AS orders,
              coalesce(prolongations, 0) AS prolongations, coalesce(proxies, 0) AS proxies,
              round(coalesce(sales, 0), 2) AS sales, round(coalesce(refunds, 0), 2) AS refunds,
              round(coalesce(refunds_by_rule, 0), 2) AS refunds_by_rule, round(coalesce(cost, 0), 2) AS cost,
              round(coalesce(sales - refunds - refunds_by_rule - cost, 0), 2) AS margin
         FROM (SELECT * FROM sums WHERE is_total UNION ALL SELECT * FROM page) AS shown
        ORDER BY is_total DESC, day DESC, country, version`,
      [from, to, limit ?? null, ...after],
    );
    if (!total) throw new Error('the database returned no total');
    const { day: _day, country: _country, version: _version, ...figures } = total;
    return { total: figures, rows };
  }
}

const selectDimension = (name: SalesDimension, keys: readonly SalesDimension[]): string => {
  if (!keys.includes(name)) return `NULL::text AS ${name}`;
  return name === 'day' ? `to_char(day, 'YYYY-MM-DD') AS day` : name;
};

const isCursor = (values: readonly string[], keys: readonly SalesDimension[]): boolean =>
  values.length === keys.length && (keys[0] !== 'day' || /^\d{4}-\d\d-\d\d$/.test(values[0] ?? ''));

/** Returns an SQL condition for the rows after the cursor, whose values begin at parameter `$4`. */
const isAfter = (keys: readonly SalesDimension[]): string => {
  const alternatives = keys.map((key, n) => {
    const equal = keys.slice(0, n).map((earlier, index) => `${earlier} = $${4 + index}`);
    return [...equal, `${key} ${key === 'day' ? '<' : '>'} $${4 + n}`].join(' AND ');
  });
  return `(${alternatives.join(' OR ')})`;
};
