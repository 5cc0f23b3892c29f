import type { Customer } from '../drills/support/clients';
import { inDatabase, queryAt } from '../drills/support/database';

// An ordinary shop has no triggers, queue or history. Balances have their own table, because each foreign key
// to a user locks the user's row, for which the user's other orders would wait.
const SCHEMA = `
  CREATE TABLE users (id bigint PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE accounts (
    user_id bigint PRIMARY KEY REFERENCES users,
    balance numeric(14,2) NOT NULL CHECK (balance >= 0)
  );
  CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    status text NOT NULL,
    amount numeric(14,2) NOT NULL,
    tag uuid NOT NULL,
    provider_order_id text,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX ON orders (user_id, id);
  CREATE TABLE ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    order_id bigint REFERENCES orders,
    amount numeric(14,2) NOT NULL,
    balance_after numeric(14,2) NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX ON ledger (user_id, id);
  CREATE TABLE proxies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    order_id bigint NOT NULL REFERENCES orders,
    provider_id text NOT NULL UNIQUE,
    host text NOT NULL,
    port text NOT NULL,
    login text NOT NULL,
    password text NOT NULL,
    country text NOT NULL,
    date_start timestamptz NOT NULL,
    date_end timestamptz NOT NULL
  );
  CREATE INDEX ON proxies (user_id, id);`;

/** Parameters: user, price, tag. Returns no row if the balance is too low. */
export const ORDER_PAID = `
  WITH paid AS (
    UPDATE accounts SET balance = balance - $2::numeric WHERE user_id = $1 AND balance >= $2::numeric
    RETURNING user_id, balance
  ), placed AS (
    INSERT INTO orders (user_id, status, amount, tag) SELECT user_id, 'pending', $2::numeric, $3 FROM paid
    RETURNING id, user_id
  ), entered AS (
    INSERT INTO ledger (user_id, order_id, amount, balance_after)
    SELECT placed.user_id, placed.id, -$2::numeric, paid.balance FROM placed, paid
  )
  SELECT id FROM placed`;

/** Parameters: order, its number at the provider, arrays of columns, country ($10). */
export const ORDER_DELIVERED = `
  WITH completed AS (
    UPDATE orders SET status = 'completed', provider_order_id = $2 WHERE id = $1 RETURNING id, user_id
  )
  INSERT INTO proxies (user_id, order_id, provider_id, host, port, login, password, country, date_start,
                       date_end)
  SELECT user_id, completed.id, sold.id, host, port, login, password, $10, to_timestamp(starts),
         to_timestamp(ends)
    FROM completed,
         unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::float8[])
           AS sold (id, host, port, login, password, starts, ends)
  RETURNING *`;

export const ordinaryUrl = (serverUrl: string): string => inDatabase(serverUrl, 'bench_ordinary');

export async function createOrdinaryShop(serverUrl: string): Promise<void> {
  await queryAt(serverUrl, 'CREATE DATABASE bench_ordinary');
  await queryAt(ordinaryUrl(serverUrl), SCHEMA);
}

export function addToOrdinaryShop(serverUrl: string, customers: readonly Customer[]): Promise<unknown> {
  return queryAt(
    ordinaryUrl(serverUrl),
    `WITH added AS (INSERT INTO users (id) SELECT unnest($1::bigint[]) RETURNING id)
     INSERT INTO accounts (user_id, balance) SELECT id, 99999999999 FROM added`,
    [customers.map(({ id }) => id)],
  );
}
