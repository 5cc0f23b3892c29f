export const SALES_COLUMNS =
  'day, country, version, purchases, prolongations, proxies, sales, refunds, refunds_by_rule, cost';

/**
 * Returns a query for daily sales (UTC). An order counts on the day it was closed, a refund on the day it was
 * made.
 * @param from SQL for the first day: a parameter or a subquery, so that the indexes are used
 * @param to SQL for the day after the last one, also a parameter or a subquery
 */
export const dailySalesSql = (from: string, to: string): string => `
  SELECT day, country, version, count(*) FILTER (WHERE kind = 'purchase') AS purchases,
         count(*) FILTER (WHERE kind = 'prolongation') AS prolongations,
         coalesce(sum(proxies), 0)::bigint AS proxies,
         sum(sales) AS sales, sum(refunds) AS refunds, sum(by_rule) AS refunds_by_rule, sum(cost) AS cost
    FROM (SELECT (closed_at AT TIME ZONE 'UTC')::date AS day, country, version, kind,
                 CASE kind WHEN 'purchase' THEN captured / unit_price END AS proxies,
                 captured AS sales, 0 AS refunds, 0 AS by_rule, coalesce(provider_charge, 0) AS cost
            FROM orders
           WHERE captured > 0 AND closed_at >= ${midnight(from)} AND closed_at < ${midnight(to)}
          UNION ALL
          SELECT (entry.created_at AT TIME ZONE 'UTC')::date, country, version, 'refund', NULL,
                 0, CASE WHEN proxy_refund_id IS NULL THEN available_delta ELSE 0 END,
                 CASE WHEN proxy_refund_id IS NULL THEN 0 ELSE available_delta END, 0
            FROM ledger_entries entry JOIN orders ON orders.id = entry.order_id
           WHERE entry.kind = 'refund'
             AND entry.created_at >= ${midnight(from)} AND entry.created_at < ${midnight(to)}) AS sold
   GROUP BY day, country, version`;

function midnight(day: string): string {
  return `(${day})::timestamp AT TIME ZONE 'UTC'`;
}
