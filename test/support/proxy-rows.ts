interface Database {
  query(statement: string, parameters: unknown[]): Promise<unknown>;
}

/** The defaults are HTTP, version 6, ru, and 30 days from now. */
export interface ProxyRow {
  readonly host?: string;
  readonly port?: string;
  readonly login?: string;
  readonly password?: string;
  readonly proxyType?: 'http' | 'socks';
  /** Relative to the machine's time. */
  readonly endsInSeconds?: number;
  readonly active?: boolean;
  readonly descr?: string;
}

/** Proxies without an order. `#` in host, login and password stands for the row's number. */
export async function insertProxies(
  database: Database,
  userId: number,
  count: number,
  { host, port, login, password, proxyType, endsInSeconds, active, descr }: ProxyRow = {},
): Promise<number[]> {
  const rows = (await database.query(
    `WITH purchase AS (
       INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count, proxy_type,
                           unit_price, hold_amount, captured, provider, provider_price, sent_before,
                           next_search_at,
                           closed_at)
       VALUES ($1, 'purchase', 'completed', gen_random_uuid(), 'ru', '6', 30, $2::int, $7, 1, $2, $2,
               'test', 1, now(), now(), now())
       RETURNING id, user_id
     )
     INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                          proxy_type, country, version, period, date_start, date_end, active, label)
     SELECT user_id, purchase.id, 'test', purchase.id || '-' || n, replace($3, '#', n::text), $4,
            replace($5, '#', n::text), replace($6, '#', n::text), $7, 'ru', '6', 30,
            date_trunc('second', now()), date_trunc('second', now()) + make_interval(secs => $8), $9, $10
       FROM purchase, generate_series(1, $2::int) n
     RETURNING id`,
    [
      userId,
      count,
      host ?? '127.0.0.1',
      port ?? '8080',
      login ?? 'login#',
      password ?? 'password#',
      proxyType ?? 'http',
      endsInSeconds ?? 30 * 24 * 3600,
      active ?? true,
      descr ?? null,
    ],
  )) as { id: number }[];
  return rows.map(({ id }) => id).sort((a, b) => a - b);
}

/** No order of ours accounts for this proxy, although the provider lists it under one of our references. */
export async function insertUnmatchedProxy(
  database: Database,
  orderReference = 'prs.test.u1.o1',
): Promise<number> {
  const [row] = (await database.query(
    `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login, password,
                          proxy_type, country, version, date_start, date_end)
     VALUES ('px6', gen_random_uuid(), $1, '127.0.0.1', '1', 'login', 'password', 'http', 'ru', '6', now(),
             now() + interval '1 day')
     RETURNING id`,
    [orderReference],
  )) as [{ id: number }];
  return row.id;
}
