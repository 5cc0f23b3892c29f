/**
 * pgbench scripts of what one would write instead of the service, on the ordinary schema
 * (`baseline/ordinary-database.ts`): look the token up, take the money and place the order, and after the
 * provider's answer, which pgbench does not wait for, store what it brought. Each transaction is a single
 * statement: the fastest of the ways that were measured.
 */

export interface BaselineOrder {
  readonly count: number;
  /** Roubles for one proxy. */
  readonly unitPrice: string;
}

const FIND_CALLER = `
SELECT user_id, scopes FROM tokens WHERE hash = sha256((:user)::text::bytea) AND revoked_at IS NULL;`;

const place = (kind: 'purchase' | 'prolongation', { count, unitPrice }: BaselineOrder): string => `
WITH paid AS (
  UPDATE accounts SET balance = balance - ${unitPrice} * ${count}
   WHERE user_id = :user AND balance >= ${unitPrice} * ${count}
  RETURNING user_id, balance
), placed AS (
  INSERT INTO orders (user_id, kind, status, amount, tag)
  SELECT user_id, '${kind}', 'pending', ${unitPrice} * ${count}, gen_random_uuid() FROM paid
  RETURNING id, user_id, amount
), entered AS (
  INSERT INTO ledger (user_id, order_id, amount, balance_after)
  SELECT placed.user_id, placed.id, -placed.amount, paid.balance FROM placed, paid
)
SELECT id AS order FROM placed
\\gset`;

const COMPLETE = `
  UPDATE orders SET status = 'completed', provider_order_id = :order::text WHERE id = :order`;

/** @param choose commands that set `user` */
export function baselinePurchase(order: BaselineOrder, choose: string): string {
  return `${choose}${FIND_CALLER}${place('purchase', order)}
WITH delivered AS (
  INSERT INTO proxies (user_id, order_id, provider_id, host, port, login, password, proxy_type, country,
                       version, date_start, date_end)
  SELECT :user, :order, nextval('provider_numbers'), '127.0.0.1', '41175', 'knEzgr', '7HrD28', 'http', 'ru',
         '6', now(), now() + interval '30 days'
    FROM generate_series(1, ${order.count})
  RETURNING id, host, port, login, password, proxy_type, country, version, date_start, date_end
), completed AS (${COMPLETE})
SELECT * FROM delivered;
`;
}

/** @param choose commands that set `proxy` and `user` */
export function baselineProlongation(order: BaselineOrder, choose: string): string {
  return `${choose}${FIND_CALLER}
SELECT provider_id, version, country, date_end FROM proxies WHERE id = :proxy AND user_id = :user
\\gset proxy_${place('prolongation', order)}
WITH prolonged AS (
  UPDATE proxies SET date_end = date_end + interval '30 days' WHERE id = :proxy
  RETURNING id, host, port, login, password, proxy_type, country, version, date_start, date_end
), completed AS (${COMPLETE})
SELECT * FROM prolonged;
`;
}
