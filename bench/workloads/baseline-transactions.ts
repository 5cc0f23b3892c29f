/**
 * pgbench scripts of a conventional implementation of an order: look the token up, then place the order,
 * mark it as sent and settle it in three transactions, on the service's own tables with their triggers and
 * constraints.
 */

export interface BaselineOrder {
  readonly count: number;
  /** Roubles for one proxy. */
  readonly unitPrice: string;
  /** Hexadecimal SHA-256. */
  readonly tokenHash: string;
}

const FIND_CALLER = (tokenHash: string): string => `
SELECT token.id AS token, user_id, scopes, allowed_ips, daily_limit, last_used_at,
       blocked_at IS NOT NULL AS blocked
  FROM api_tokens token JOIN users ON users.id = token.user_id
 WHERE token_hash = '\\x${tokenHash}' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
\\gset caller_`;

const place = (kind: 'purchase' | 'prolongation', { count, unitPrice }: BaselineOrder): string => `
BEGIN;
SELECT available AS balance FROM accounts WHERE user_id = :user FOR UPDATE
\\gset
INSERT INTO orders (user_id, kind, tag, country, version, period, count, proxy_type, proxy_id, unit_price,
                    held, provider, provider_price,
                    request_id, attempt, markup_percent, token_id, date_end_before, deadline, next_look_at)
VALUES (:user, '${kind}', 'bench.' || nextval('bench_numbers'), 'ru', '6', 30, ${count}, 'http',
        ${kind === 'purchase' ? 'NULL' : ':proxy'}, ${unitPrice}, ${unitPrice} * ${count}, 'px6',
        20.90 * ${count},
        gen_random_uuid(), gen_random_uuid(), 20, :caller_token,
        ${kind === 'purchase' ? 'NULL' : ':proxy_ends'},
        now() + interval '22 seconds', now() + interval '22 seconds')
RETURNING id AS order, held
\\gset
INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
    VALUES (:user, 'hold', :order, -:held::numeric, :held::numeric);
COMMIT;`;

const MARK_SENT = `
BEGIN;
UPDATE orders SET state = 'submitting', group_id = id, claim = gen_random_uuid(),
submitted_at = clock_timestamp(),
       deadline = clock_timestamp() + interval '30 seconds', next_look_at = clock_timestamp()
           + interval '30 seconds'
 WHERE id = :order AND state = 'reserved';
COMMIT;`;

const settle = (deliver: string, method: string, answer: string): string => `
BEGIN;
${deliver}
UPDATE orders SET state = 'completed', captured = held, closed_at = now(), provider_order_id = :order::text,
provider_charge = provider_price
 WHERE id = :order AND state = 'submitting';
INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
    VALUES (:user, 'capture', :order, 0, -:held::numeric);
INSERT INTO upstream_calls (order_id, method, request, outcome, http_status, answer, duration_ms)
VALUES (:order, '${method}', '{"period": "30", "country": "ru", "version": "6"}', 'ok', 200, '${answer}', 3);
COMMIT;
`;

/** @param choose commands that set `user` */
export function baselinePurchase(order: BaselineOrder, choose: string): string {
  const proxies = `
INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password, proxy_type,
                     country, version, date_start, date_end)
SELECT :user, :order, 'px6', 'bench-' || nextval('bench_numbers'), '127.0.0.1', '41175', 'knEzgr', '7HrD28',
       'http', 'ru', '6',
       date_trunc('second', now()), date_trunc('second', now()) + interval '30 days'
  FROM generate_series(1, ${order.count});`;
  return (
    choose +
    FIND_CALLER(order.tokenHash) +
    place('purchase', order) +
    MARK_SENT +
    settle(proxies, 'buy', '{"status": "yes"}')
  );
}

/** @param choose commands that set `proxy` and `user` */
export function baselineProlongation(order: BaselineOrder, choose: string): string {
  const proxy = `
SELECT id, host, port, login, password, version, country, date_end AS ends FROM proxies WHERE id = :proxy
    AND user_id = :user
\\gset proxy_`;
  const prolonged = `UPDATE proxies SET date_end = date_end + interval '30 days', active = true, absences = 0,
  withdrawn_at = NULL WHERE id = :proxy;`;
  return (
    choose +
    FIND_CALLER(order.tokenHash) +
    proxy +
    place('prolongation', order) +
    MARK_SENT +
    settle(prolonged, 'prolong', '{"status": "yes"}')
  );
}
