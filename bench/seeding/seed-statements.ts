import { REFERENCE_PREFIX_SQL } from '../../src/orders';

// Every value is derived from the user's id and the seed by `chance`, so two runs with the same seed differ
// only in the time from which they count back. A user's orders are spread evenly over the time since the user
// joined. The first is a delivered purchase; the last may be in review. A top-up before every third order
// covers the next three, so no balance is negative.

const ORDERS_PER_TOPUP = 3;
const DAYS = 2 * 365;
/** Average per order: a hold, a capture, a share of a top-up, and sometimes a release or an adjustment. */
export const ENTRIES_PER_ORDER = 2.45;

/** Far above the ids that the sandbox assigns. */
const FIRST_PROVIDER_PROXY_ID = 9_000_000_000;

export interface SeedPlan {
  readonly users: number;
  readonly ordersPerUser: number;
  readonly proxiesPerUser: number;
  readonly seed: number;
  readonly until: number;
}

const functions = (seed: number): string => `
  CREATE FUNCTION pg_temp.chance(subject bigint, place integer, topic integer) RETURNS float8
      LANGUAGE sql IMMUTABLE AS
    $$ SELECT (hashint8extended(subject * 1000003 + place * 101 + topic, ${seed}) & 4294967295)
              / 4294967296.0::float8 $$;

  -- Number of proxies that the first "ordinal" purchases delivered; later purchases are larger.
  CREATE FUNCTION pg_temp.bought(proxies integer, purchases integer, ordinal integer) RETURNS integer
      LANGUAGE sql IMMUTABLE AS
    $$ SELECT ordinal + floor((proxies - purchases) * (ordinal::float8 / purchases) ^ 2)::integer $$;

  CREATE FUNCTION pg_temp.moment(joined timestamptz, life interval, orders integer, user_id bigint,
                                 place integer)
    RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT joined + life * ((place - 0.9 + 0.8 * pg_temp.chance(user_id, place, 1)) / orders) $$;

  -- Duration of the call to the provider.
  CREATE FUNCTION pg_temp.duration(user_id bigint, place integer) RETURNS interval LANGUAGE sql IMMUTABLE AS
    $$ SELECT make_interval(secs => 2 + 7 * pg_temp.chance(user_id, place, 26)) $$;

  CREATE FUNCTION pg_temp.version(roll float8) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN roll < 0.6 THEN '6' WHEN roll < 0.85 THEN '4' ELSE '4s' END $$;

  CREATE FUNCTION pg_temp.period(version text, roll float8) RETURNS integer LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE version WHEN '6' THEN (ARRAY[3, 3, 7, 7, 14, 30, 30, 30, 60, 90, 180, 365])
                                                [1 + floor(12 * roll)::integer]
                           ELSE (ARRAY[7, 14, 30, 30, 30, 60, 90, 180, 365])
                                                [1 + floor(9 * roll)::integer] END $$;

  CREATE FUNCTION pg_temp.word(subject bigint, place integer, topic integer) RETURNS text
      LANGUAGE sql IMMUTABLE AS
    $$ SELECT md5(subject || '/' || place || '/' || topic || '/${seed}') $$;`;

const planUsers = ({ users, ordersPerUser, proxiesPerUser, until }: SeedPlan): string => `
  CREATE TEMPORARY TABLE planned_users ON COMMIT DROP AS
  SELECT id, joined, to_timestamp(${until}) - joined AS life, greatest(planned_orders, purchases) AS orders,
         purchases, proxies
    FROM (SELECT n::bigint AS id,
                 to_timestamp(${until} - 86400 * (7 + ${DAYS - 7} * (1 - (n::float8 / ${users}) ^ 0.8)))
                     AS joined
            FROM generate_series(1, ${users}) AS n) AS person,
         LATERAL (SELECT floor(${2 * ordersPerUser}::float8 * pg_temp.chance(id, 0, 1)
                               + pg_temp.chance(id, 0, 2))::integer AS planned_orders,
                         floor(${3 * proxiesPerUser}::float8 * pg_temp.chance(id, 0, 3) ^ 2
                               + pg_temp.chance(id, 0, 4))::integer AS proxies) AS use,
         -- No purchase has more than 801 proxies.
         LATERAL (SELECT least(proxies, greatest(ceil(proxies / 400.0), round(planned_orders / 2.0)))::integer
                  AS purchases) AS share;
  ANALYZE planned_users`;

const writeUsers = `
  INSERT INTO users (id, username, tg_id, web_username, has_app, created_at)
  SELECT id, CASE WHEN pg_temp.chance(id, 0, 7) < 0.95 THEN first || ' ' || last END,
         CASE WHEN pg_temp.chance(id, 0, 8) < 0.85 THEN 200000000 + id * 577
             + floor(577 * pg_temp.chance(id, 0, 9))::bigint END,
         CASE WHEN pg_temp.chance(id, 0, 10) < 0.7
             THEN replace(lower(first || '.' || last), ' ', '') || '-' || id END,
         pg_temp.chance(id, 0, 11) < 0.4, joined
    FROM planned_users,
         LATERAL (SELECT (ARRAY['Anna', 'Boris', 'Daria', 'Egor', 'Fedor', 'Galina', 'Ilya', 'Irina',
                                'Kirill', 'Lev', 'Maria', 'Nikita', 'Olga', 'Pavel', 'Roman', 'Sofia',
                                'Timur', 'Vera', 'Yana', 'Zakhar'])
                                [1 + floor(20 * pg_temp.chance(id, 0, 5))::integer] AS first,
                         (ARRAY['Abramov', 'Belov', 'Chernov', 'Danilov', 'Efimov', 'Fomin', 'Gusev',
                                'Ivanov', 'Kuznetsov', 'Lebedev', 'Morozov', 'Novikov',
                                'Orlov', 'Petrov', 'Romanov', 'Smirnov', 'Titov', 'Volkov', 'Yakovlev',
                                'Zaitsev'])
                                [1 + floor(20 * pg_temp.chance(id, 0, 6))::integer]
                         || CASE WHEN pg_temp.chance(id, 0, 12) < 0.3 THEN ''
                             ELSE ' ' || floor(1000 * pg_temp.chance(id, 0, 13)) END AS last) AS name`;

const writeTokens = (until: number): string => `
  INSERT INTO api_tokens (user_id, token_hash, name, scopes, created_at, expires_at, revoked_at, last_used_at)
  SELECT id, sha256(convert_to(pg_temp.word(id, number, 14), 'utf8')),
         CASE number WHEN 1 THEN NULL ELSE 'script' END,
         $1::text[], joined + life * 0.01 * number,
         CASE WHEN pg_temp.chance(id, number, 15) < 0.1 THEN joined + interval '1 year' END,
         CASE WHEN number = 2 AND pg_temp.chance(id, 0, 16) < 0.3 THEN joined + life * 0.5 END,
         CASE WHEN orders > 0 THEN to_timestamp(${until}) - life * 0.1 * pg_temp.chance(id, number, 17) END
    FROM planned_users, generate_series(1, CASE WHEN pg_temp.chance(id, 0, 18) < 0.2 THEN 2 ELSE 1 END)
        AS number`;

/** The ids of orders and proxies follow their times. */
const planOrders = (until: number): string => `
  CREATE TEMPORARY TABLE planned_orders ON COMMIT DROP AS
  SELECT row_number() OVER line AS id,
         1 - size + sum(size) OVER (line ROWS UNBOUNDED PRECEDING) AS first_proxy_id,
         u.id AS user_id, place, kind, state, at,
         CASE WHEN state <> 'review' THEN at + pg_temp.duration(u.id, place) END AS closed_at,
         state <> 'canceled' OR pg_temp.chance(u.id, place, 27) < 0.5 AS is_sent,
         pg_temp.chance(u.id, place, 28) < 0.3 AS is_keyed,
         bought_at_place, proxy_index, country, version, period, count, size, proxy_type,
         ceil(day_price * period * 120) / 100 AS unit_price,
         round(day_price * period * count, 4) AS provider_price,
         -- The proxy is prolonged shortly before it expires.
         CASE WHEN kind = 'prolongation' THEN greatest(
           date_trunc('second', pg_temp.moment(joined, life, orders, u.id, bought_at_place)
                      + pg_temp.duration(u.id, bought_at_place))
             + make_interval(days => first_period),
           date_trunc('second', at) + interval '2 hours') END AS date_end_before
    FROM planned_users u
    CROSS JOIN LATERAL generate_series(1, orders) AS place
    -- Delivered purchases are spread evenly among the orders; "ordinal" counts them up to this order.
    CROSS JOIN LATERAL (SELECT (place * purchases + orders - 1) / orders AS ordinal,
                               ((place - 1) * purchases + orders - 1) / orders AS ordinal_before) AS count_of
    CROSS JOIN LATERAL (SELECT ordinal > ordinal_before AS is_delivery,
                        pg_temp.chance(u.id, place, 20) AS roll) AS lot
    CROSS JOIN LATERAL (SELECT CASE WHEN is_delivery OR purchases = 0 OR roll > 0.8 THEN 'purchase'
                        ELSE 'prolongation' END AS kind,
                               CASE WHEN is_delivery THEN CASE WHEN roll < 0.04 THEN 'partial'
                                   ELSE 'completed' END
                                    WHEN place = orders AND pg_temp.chance(u.id, 0, 21) < 0.03 THEN 'review'
                                    WHEN purchases = 0 OR roll > 0.75 THEN 'canceled'
                                    ELSE 'completed' END AS state) AS role
    CROSS JOIN LATERAL (SELECT CASE kind WHEN 'prolongation' THEN 1
                        + floor(ordinal * pg_temp.chance(u.id, place, 22))::integer
                            END AS bought_at) AS choice
    CROSS JOIN LATERAL (SELECT (bought_at - 1) * orders / nullif(purchases, 0) + 1 AS bought_at_place,
                               floor((pg_temp.bought(proxies, purchases, bought_at)
                                      - pg_temp.bought(proxies, purchases, bought_at - 1))
                                     * pg_temp.chance(u.id, place, 23))::integer AS proxy_index,
                               CASE WHEN is_delivery THEN pg_temp.bought(proxies, purchases, ordinal)
                                   - pg_temp.bought(proxies, purchases, ordinal - 1)
                                    ELSE 0 END AS size) AS goods
    CROSS JOIN LATERAL (SELECT coalesce(bought_at_place, place) AS bought_with) AS lead
    CROSS JOIN LATERAL (SELECT (ARRAY['ru', 'us', 'de', 'nl', 'gb', 'fr', 'pl', 'kz', 'tr', 'it', 'es', 'in'])
                                 [1 + floor(12 * pg_temp.chance(u.id, bought_with, 30) ^ 2)::integer]
                                     AS country,
                               pg_temp.version(pg_temp.chance(u.id, bought_with, 31)) AS version,
                               CASE WHEN pg_temp.chance(u.id, bought_with, 32) < 0.8 THEN 'http' ELSE 'socks'
                                   END AS proxy_type) AS product
    CROSS JOIN LATERAL (SELECT pg_temp.period(version, pg_temp.chance(u.id, place, 33)) AS period,
                               pg_temp.period(version, pg_temp.chance(u.id, bought_with, 33)) AS first_period,
                               CASE version WHEN '6' THEN 0.21 WHEN '4' THEN 4.15 ELSE 1.37 END AS day_price,
                               CASE WHEN kind = 'prolongation' THEN 1
                                    WHEN state = 'partial' THEN size + 1
                                        + floor(3 * pg_temp.chance(u.id, place, 24))::integer
                                    WHEN is_delivery THEN size
                                    ELSE 1 + floor(10 * pg_temp.chance(u.id, place, 24) ^ 2)::integer
                                        END AS count,
                               -- Orders in review are recent.
                               greatest(pg_temp.moment(joined, life, orders, u.id, place),
                                        CASE state WHEN 'review'
                                          THEN to_timestamp(${until}
                                                            - 10 * 86400 * pg_temp.chance(u.id, 0, 25))
                                        END) AS at) AS terms
  WINDOW line AS (ORDER BY at, u.id)`;

/** Ordered by time, as a live service would have inserted them. */
const writeEntries = `
  WITH money AS (
    SELECT user_id, id, place, at, closed_at, unit_price * count AS held,
           CASE state WHEN 'completed' THEN unit_price * count WHEN 'partial' THEN unit_price * size ELSE 0
               END AS captured
      FROM planned_orders
  )
  INSERT INTO ledger_entries (user_id, order_id, seq, kind, available_delta, held_delta, available_after,
                              held_after, reason, created_at)
  SELECT user_id, order_id, row_number() OVER line, kind, available_delta, held_delta,
         sum(available_delta) OVER line, sum(held_delta) OVER line, reason, created_at
    FROM (
      SELECT user_id, id AS order_id, 3 AS step, 'hold' AS kind, -held AS available_delta, held AS held_delta,
             NULL AS reason, at AS created_at
        FROM money
      UNION ALL
      SELECT user_id, id, 4, 'capture', 0, -captured, NULL, closed_at FROM money WHERE captured > 0
      UNION ALL
      SELECT user_id, id, 5, 'release', held - captured, captured - held, NULL, closed_at FROM money
       WHERE closed_at IS NOT NULL AND captured < held
      UNION ALL
      SELECT user_id, NULL, step, kind, amount, 0, reason, at
        FROM (SELECT user_id, min(place) AS first_place, sum(held) AS needed FROM money
               GROUP BY user_id, (place - 1) / ${ORDERS_PER_TOPUP}) AS chapter
        JOIN planned_users u ON u.id = user_id
       CROSS JOIN LATERAL (SELECT pg_temp.chance(user_id, first_place, 40) AS roll,
                                  pg_temp.moment(joined, life, orders, user_id, first_place) AS order_at)
                                      AS lot
       CROSS JOIN LATERAL (
         VALUES (1, 'topup', ceil(needed / 100) * 100 + CASE WHEN roll < 0.02 THEN 100 ELSE 0 END,
                 'card payment',
                 order_at - life * 0.05 / orders),
                (2, 'adjustment', CASE WHEN roll < 0.02 THEN -100 WHEN roll < 0.04 THEN 50 END,
                 CASE WHEN roll < 0.02 THEN 'a part of the top-up was entered twice' ELSE 'for an outage' END,
                 order_at - life * 0.02 / orders)) AS given (step, kind, amount, reason, at)
       WHERE amount IS NOT NULL
    ) AS entry
  WINDOW line AS (PARTITION BY user_id ORDER BY created_at, step)
   ORDER BY created_at, user_id, step`;

const planEnds = `
  CREATE INDEX ON planned_orders (user_id, place);
  CREATE TEMPORARY TABLE prolonged ON COMMIT DROP AS
  SELECT user_id, bought_at_place AS place, proxy_index,
         max(date_end_before + make_interval(days => period)) AS date_end
    FROM planned_orders WHERE kind = 'prolongation' AND state = 'completed' GROUP BY 1, 2, 3;
  CREATE INDEX ON prolonged (user_id, place, proxy_index);
  ANALYZE planned_orders, prolonged`;

const writeAccounts = `
  INSERT INTO accounts (user_id, available, held, spent, seq)
  SELECT id, coalesce(available, 0), coalesce(held, 0), coalesce(spent, 0), coalesce(seq, 0)
    FROM users
    LEFT JOIN (SELECT user_id, sum(available_delta) AS available, sum(held_delta) AS held,
                      sum(-held_delta) FILTER (WHERE kind = 'capture') AS spent, count(*) AS seq
                 FROM ledger_entries GROUP BY user_id) AS sums ON user_id = id
   ORDER BY id`;

const writeOrdersAndProxies = `
  WITH stored AS (
    INSERT INTO proxies (id, user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                         proxy_type, country, version, period,
                         date_start, date_end, active, absences, withdrawn_at, created_at)
    SELECT proxy_id, user_id, o.id, 'px6', ${FIRST_PROVIDER_PROXY_ID} + proxy_id,
           -- IPv6 proxies share gateway addresses.
           CASE version WHEN '6' THEN format('45.90.%s.%s', gateway / 250, 1 + gateway % 250)
                        ELSE format('185.%s.%s.%s', proxy_id / 62500 % 250, proxy_id / 250 % 250,
                                    1 + proxy_id % 250) END,
           1024 + proxy_id % 60000, substr(secret, 1, 6), substr(secret, 7, 8), proxy_type, country, version,
           period, date_trunc('second', closed_at), date_end, date_end > now() AND NOT is_gone,
           CASE WHEN is_gone THEN 2 ELSE 0 END,
           CASE WHEN is_gone THEN closed_at + (now() - closed_at) * 0.9 END, closed_at
      FROM planned_orders o
     CROSS JOIN LATERAL generate_series(0, size - 1) AS nth
     CROSS JOIN LATERAL (SELECT first_proxy_id + nth AS proxy_id,
                         pg_temp.word(first_proxy_id, nth, 50) AS secret,
                                floor(2500 * pg_temp.chance(o.id, 0, 51))::integer AS gateway,
                                coalesce((SELECT date_end FROM prolonged
                                           WHERE (prolonged.user_id, prolonged.place,
                                                  prolonged.proxy_index) = (o.user_id, o.place, nth)),
                                         date_trunc('second', closed_at) + make_interval(days => period))
                                             AS date_end) AS made
     CROSS JOIN LATERAL (SELECT date_end > now() AND pg_temp.chance(proxy_id, 0, 52) < 0.002 AS is_gone)
         AS fate
     WHERE size > 0
     ORDER BY proxy_id
    RETURNING id, order_id, host, port, login, password, date_start
  ),
  deliveries AS (
    SELECT order_id, jsonb_agg(jsonb_build_object('id', stored.id, 'host', host, 'port', port, 'login', login,
                                                  'password', password,
                                 'date_start', date_start, 'date_end',
                                 date_start + make_interval(days => period)) ORDER BY stored.id)
           AS delivered_proxies
      FROM stored JOIN planned_orders o ON o.id = order_id
     WHERE is_keyed
     GROUP BY order_id
  )
  INSERT INTO orders (id, user_id, kind, state, order_reference, country, version, period, count, proxy_type,
                      proxy_id, unit_price, hold_amount, captured, released,
                      provider, provider_price, provider_charge, provider_order_id, date_end_before,
                      idempotency_key, request_hash, delivered_proxies,
                      failure, request_id, created_at, submitted_at, queued_until, sent_before,
                      next_search_at, searches,
                      closed_at,
                      attempt, claim, batch_id,
                      history)
  SELECT id, user_id, kind, state, prefix || 'u' || user_id || '.o' || id || 'x', country, version, period,
         count, proxy_type,
         CASE kind WHEN 'prolongation' THEN proxy_index + (
           SELECT first_proxy_id FROM planned_orders AS bought
            WHERE (bought.user_id, bought.place) = (o.user_id, o.bought_at_place)) END,
         unit_price, held, captured, CASE WHEN closed_at IS NULL THEN 0 ELSE held - captured END,
         'px6', provider_price, CASE WHEN captured > 0 THEN round(provider_price * captured / held, 4) END,
         CASE WHEN captured > 0 THEN (1000000 + id)::text END,
         CASE WHEN is_sent THEN date_end_before END, key, sha256(convert_to(key, 'utf8')), delivered_proxies,
         CASE state WHEN 'review' THEN 'nothing was found'
                    WHEN 'canceled' THEN CASE WHEN is_sent
                        THEN (ARRAY['out-of-stock', 'unavailable', 'nothing-found'])[1 + id % 3]
                            ELSE 'busy' END END,
         pg_temp.word(user_id, place, 60)::uuid, at, sent_at, CASE state WHEN 'reserved' THEN later END,
         CASE WHEN is_sent THEN later END, later,
         CASE state WHEN 'review' THEN 12 ELSE 0 END, closed_at,
         pg_temp.word(user_id, place, 61)::uuid, CASE WHEN is_sent
             THEN pg_temp.word(user_id, place, 62)::uuid END, CASE WHEN is_sent THEN id END,
         jsonb_build_array(jsonb_build_object('state', 'reserved', 'at', at))
           || CASE WHEN is_sent
                   THEN jsonb_build_array(jsonb_build_object('state', 'submitting', 'at', sent_at))
                   ELSE '[]' END
           || CASE WHEN state IN ('reserved', 'submitting') THEN '[]'
                   ELSE jsonb_build_array(jsonb_build_object('state', state,
                                                                 'at', coalesce(closed_at, later))) END
    FROM planned_orders o
    LEFT JOIN deliveries ON order_id = id
    CROSS JOIN ${REFERENCE_PREFIX_SQL} AS installation (prefix)
    CROSS JOIN LATERAL (SELECT unit_price * count AS held, CASE WHEN is_keyed
                        THEN 'order-' || user_id || '-' || place END AS key,
                               CASE WHEN is_sent THEN at + interval '1 second' END AS sent_at,
                               at + interval '30 seconds' AS later) AS more
    CROSS JOIN LATERAL (SELECT CASE state WHEN 'completed' THEN held WHEN 'partial' THEN unit_price * size
                        ELSE 0 END AS captured) AS paid
   ORDER BY id`;

const writeCalls = `
  INSERT INTO provider_calls (order_id, method, request, outcome, http_status, response, duration_ms,
                              created_at)
  SELECT id, CASE kind WHEN 'purchase' THEN 'buy' ELSE 'prolong' END,
         jsonb_build_object('count', count::text, 'period', period::text, 'country', country, 'version',
                            version),
         CASE state WHEN 'review' THEN 'unknown' WHEN 'canceled' THEN 'refused' ELSE 'done' END,
         CASE WHEN state <> 'review' THEN 200 END,
         CASE state WHEN 'review' THEN NULL WHEN 'canceled' THEN '{"status": "no", "error_id": 300}'
                    ELSE jsonb_build_object('status', 'yes', 'order_id', 1000000 + id, 'count', count)::text
                    END,
         CASE state WHEN 'review' THEN 20000 ELSE extract(milliseconds FROM closed_at - at)::integer END,
         coalesce(closed_at, at)
    FROM planned_orders
   WHERE is_sent AND (state = 'review' OR pg_temp.chance(id, 0, 70) < 0.3)
   ORDER BY id`;

export const historyOf = (plan: SeedPlan, scopes: readonly string[]): (readonly [string, unknown[]])[] => [
  [functions(plan.seed), []],
  [planUsers(plan), []],
  [writeUsers, []],
  [writeTokens(plan.until), [scopes]],
  [planOrders(plan.until), []],
  [planEnds, []],
  [writeOrdersAndProxies, []],
  [writeCalls, []],
  [writeEntries, []],
  [writeAccounts, []],
];

export const writeUnmatchedProxies = `
  INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login, password,
                       proxy_type, country, version, date_start, date_end, found_at)
  SELECT 'px6', ${FIRST_PROVIDER_PROXY_ID / 2} + id, order_reference, '185.250.0.' || 1 + id % 250,
         1024 + id % 60000, substr(md5(order_reference), 1, 6),
         substr(md5(order_reference), 7, 8), proxy_type, country, version, created_at,
         created_at + make_interval(days => period), closed_at + interval '1 hour'
    FROM orders WHERE failure = 'nothing-found' AND kind = 'purchase' ORDER BY id DESC LIMIT $1
  ON CONFLICT DO NOTHING`;

export const findSampleUser = `
  SELECT user_id AS id, count(*)::integer AS proxies FROM proxies
   GROUP BY user_id ORDER BY abs(count(*) - $1), user_id LIMIT 1`;
