import { Client } from 'pg';

/**
 * Adds what a seeded database lacks: one customer with far more orders, entries, proxies and tokens than all
 * others, proxies that share a host, a batch of a hundred orders, names that only the oldest users have, and
 * an audit log of millions of lines. Triggers are off, so the customer's balance does not match the entries.
 */
export async function addStaffData(databaseUrl: string, lines: number, busyOrders: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const run = async (statement: string, parameters: readonly unknown[] = []): Promise<void> => {
    await client.query(statement, [...parameters]);
  };
  try {
    await run('SET session_replication_role = replica');
    const busy = '(SELECT max(id) FROM users)';
    const busys = `user_id = ${busy} AND tag LIKE 'busy.%'`;
    await run(
      `INSERT INTO orders (user_id, kind, state, tag, country, version, period, count, proxy_type, unit_price,
                           held, captured, released, provider,
                           provider_price, provider_order_id, request_id, created_at, submitted_at, closed_at,
                           deadline, next_look_at)
       SELECT ${busy}, 'purchase', state, format('busy.%s', n), 'ru', '6', 30, 1, 'http', 10, 10,
              CASE state WHEN 'completed' THEN 10 ELSE 0 END, CASE state WHEN 'refunded' THEN 10 ELSE 0 END,
              'px6', 8, format('busy%s', n),
              format('busy-%s', n), placed_at, placed_at, CASE WHEN state <> 'review' THEN placed_at END,
              placed_at, placed_at
         FROM (SELECT n, now() - make_interval(secs => n * 100.0) AS placed_at,
                      CASE WHEN n % 60000 = 7 THEN 'review' WHEN n % 10 = 3 THEN 'refunded' ELSE 'completed'
                          END AS state
                 FROM generate_series(1, $1::int) AS n) AS placed`,
      [busyOrders],
    );
    await run(
      `UPDATE orders SET group_id = CASE WHEN tag ~ '^busy\\.1000..$'
         THEN (SELECT id FROM orders WHERE tag = 'busy.1000') ELSE id END
        WHERE ${busys}`,
    );
    await run(
      `INSERT INTO ledger_entries (user_id, seq, kind, available_delta, held_delta, available_after,
                                   held_after, order_id, created_at)
       SELECT user_id, 1000 + row_number() OVER (ORDER BY created_at, id), 'capture', 0, -10, 0, 0, id,
              created_at
         FROM orders WHERE ${busys} AND captured > 0`,
    );
    await run(`UPDATE accounts SET seq = 1000 + $1 WHERE user_id = ${busy}`, [busyOrders]);
    await run(
      `INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                            proxy_type, country, version,
                            date_start, date_end)
       SELECT user_id, id, 'px6', format('busy%s', id), CASE WHEN id % 4 = 0 THEN '198.51.100.77'
           ELSE format('198.51.100.%s', id % 64) END,
              '8000', 'user', 'pass', 'http', 'ru', '6', created_at, created_at + interval '30 days'
         FROM orders WHERE ${busys} AND captured > 0`,
    );
    await run(`UPDATE users SET username = 'legacy ' || id WHERE id <= 20000`);
    await run(
      `INSERT INTO api_tokens (user_id, token_hash, scopes)
       SELECT ${busy}, sha256(format('busy %s', n)::bytea), '{}' FROM generate_series(1, 5000) AS n`,
    );
    // User 2 reads all day and never credits anyone.
    await run(
      `INSERT INTO staff_actions (at, via, user_id, token_id, action, target_type, target_id, request, after,
                                  ip)
       SELECT now() - make_interval(secs => n * 10.0), 'api', who, (SELECT min(id) FROM api_tokens), action,
              CASE WHEN action LIKE '%.search' THEN NULL WHEN action LIKE 'orders.%' THEN 'order'
                  ELSE 'user' END,
              CASE WHEN action LIKE '%.search' THEN NULL ELSE (n * 7919 % 1000000 + 1)::text END, '{}',
              CASE WHEN action IN ('balance.credit', 'users.block') THEN '{}'::jsonb END, '10.0.0.1'
         FROM (SELECT n, CASE WHEN n % 3 = 0 THEN 2 ELSE 3 + n * 31 % 40 END AS who,
                      (ARRAY['users.search', 'users.read', 'orders.search', 'orders.read', 'balance.credit',
                       'users.block'])
                        [1 + n / 3 % CASE WHEN n % 3 = 0 THEN 4 ELSE 6 END] AS action
                 FROM generate_series(1, $1::bigint) AS n) AS done`,
      [lines],
    );
    for (const table of [
      'users',
      'orders',
      'ledger_entries',
      'proxies',
      'api_tokens',
      'staff_actions',
      'accounts',
    ]) {
      await run(`VACUUM ANALYZE ${table}`);
    }
  } finally {
    await client.end();
  }
}
