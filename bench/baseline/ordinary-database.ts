import { Client } from 'pg';
import { type Fixture, inDatabase } from '../support/fixture';

/**
 * What one would write instead: users with tokens, their balances, orders, a ledger and proxies, with keys,
 * foreign keys and the indexes that their lists need; no triggers, queue or history. Balances have a table of
 * their own, because each foreign key to a user locks the user's row, which many orders of one user would
 * wait for.
 */
const SCHEMA = `
  CREATE TABLE users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE tokens (
    hash bytea PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    scopes text[] NOT NULL,
    revoked_at timestamptz
  );
  CREATE TABLE accounts (
    user_id bigint PRIMARY KEY REFERENCES users,
    balance numeric(14,2) NOT NULL CHECK (balance >= 0)
  );
  CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users,
    kind text NOT NULL,
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
    proxy_type text NOT NULL,
    country text NOT NULL,
    version text NOT NULL,
    date_start timestamptz NOT NULL,
    date_end timestamptz NOT NULL
  );
  CREATE INDEX ON proxies (user_id, id);
  CREATE SEQUENCE provider_numbers`;

/** Users 1 to $1, each with an account. The hash of a token is that of the user's number. */
const ADD_USERS = `
  WITH added AS (INSERT INTO users (username) SELECT 'bench' FROM generate_series(1, $1) RETURNING id),
       opened AS (INSERT INTO accounts (user_id, balance) SELECT id, 99999999999 FROM added)
  INSERT INTO tokens (hash, user_id, scopes)
  SELECT sha256(id::text::bytea), id, '{proxies:read,proxies:buy,proxies:prolong}' FROM added`;

/** Proxies 1 to $2, of the users in turn. */
const ADD_PROXIES = `
  WITH placed AS (
    INSERT INTO orders (user_id, kind, status, amount, tag)
    SELECT 1 + n % $1, 'purchase', 'completed', 25.08, gen_random_uuid() FROM generate_series(1, $2) AS n
    RETURNING id, user_id
  )
  INSERT INTO proxies (user_id, order_id, provider_id, host, port, login, password, proxy_type, country,
                       version, date_start, date_end)
  SELECT user_id, id, nextval('provider_numbers'), '127.0.0.1', '41175', 'knEzgr', '7HrD28', 'http', 'ru',
         '6', now(), now() + interval '30 days'
    FROM placed`;

/**
 * Creates a database with the ordinary schema beside the fixture's, anew for each workload.
 *
 * @param users have the numbers from 1
 * @param proxies have the numbers from 1; 0: none
 * @returns its address, as the owner of the tables
 */
export async function createOrdinaryDatabase(
  fixture: Fixture,
  { users, proxies }: { readonly users: number; readonly proxies: number },
): Promise<string> {
  await fixture.query('DROP DATABASE IF EXISTS bench_ordinary');
  await fixture.query('CREATE DATABASE bench_ordinary');
  const databaseUrl = inDatabase(fixture.environment.DATABASE_OWNER_URL, 'bench_ordinary');
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(SCHEMA);
    await client.query(ADD_USERS, [users]);
    if (proxies > 0) await client.query(ADD_PROXIES, [users, proxies]);
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
  return databaseUrl;
}
