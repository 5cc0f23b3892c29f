/** The columns of `sales_days`. */
export const SUMS = 'day, country, version, purchases, prolongations, proxies, sales, refunds, cost';

/**
 * What was sold, and given back, from one day on until before another (UTC), by day, country and version. An order counts on the day on
 * which it was closed, a refund on the day on which it was made. Proxies are those that were bought: of a part of an order, what was
 * delivered.
 *
 * @param from an expression for a date, of parameters or read by a subquery, so that the indexes are used; likewise `to`
 */
export const sumsByDay = (from: string, to: string): string => `
  SELECT day, country, version, count(*) FILTER (WHERE kind = 'purchase') AS purchases,
         count(*) FILTER (WHERE kind = 'prolongation') AS prolongations, coalesce(sum(proxies), 0)::bigint AS proxies,
         sum(sales) AS sales, sum(refunds) AS refunds, sum(cost) AS cost
    FROM (SELECT (closed_at AT TIME ZONE 'UTC')::date AS day, country, version, kind,
                 CASE kind WHEN 'purchase' THEN captured / unit_price END AS proxies,
                 captured AS sales, 0 AS refunds, coalesce(provider_charge, 0) AS cost
            FROM orders
           WHERE captured > 0 AND closed_at >= ${midnight(from)} AND closed_at < ${midnight(to)}
          UNION ALL
          SELECT (entry.created_at AT TIME ZONE 'UTC')::date, country, version, 'refund', NULL, 0, available_delta, 0
            FROM ledger_entries entry JOIN orders ON orders.id = entry.order_id
           WHERE entry.kind = 'refund' AND entry.created_at >= ${midnight(from)} AND entry.created_at < ${midnight(to)}) AS sold
   GROUP BY day, country, version`;

function midnight(day: string): string {
  return `(${day})::timestamp AT TIME ZONE 'UTC'`;
}
