import { Client } from 'pg';
import { ALL_SCOPES } from '../../src/auth';
import { generateToken, hashToken } from '../../src/auth/token-text';
import { withoutIndexes } from './bulk-load';
import {
  ENTRIES_PER_ORDER,
  findSampleUser,
  historyOf,
  type SeedPlan,
  writeUnmatchedProxies,
} from './seed-statements';

export interface SeedOptions {
  readonly databaseUrl: string;
  readonly users: number;
  /** Average. Users with many proxies have more entries, because a purchase delivers at most 801 proxies. */
  readonly entriesPerUser: number;
  readonly proxiesPerUser: number;
  readonly seed: number;
  readonly onProgress?: (line: string) => void;
}

export interface Seeded {
  readonly rows: Readonly<Record<(typeof TABLES)[number], number>>;
  readonly databaseBytes: number;
  readonly sample: { readonly userId: number; readonly proxies: number; readonly token: string };
}

const TABLES = [
  'users',
  'api_tokens',
  'accounts',
  'orders',
  'proxies',
  'ledger_entries',
  'provider_calls',
  'unmatched_proxies',
] as const;

const UNMATCHED_PROXIES = 20;
const SAMPLE_PROXIES = 100;
const SAMPLE_TOPUP = '100000.00';

/** Triggers and foreign keys are off: balances are computed in bulk, and `audit` checks the result. */
const SESSION = `
  SET statement_timeout = 0; SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = 0;
      SET TimeZone = 'UTC';
  SET synchronous_commit = off; SET work_mem = '256MB'; SET maintenance_work_mem = '512MB';
      SET temp_buffers = '256MB';
  SET session_replication_role = replica`;

/** One transaction: an aborted run leaves nothing. @throws Error if the database contains users */
export async function seedDatabase(options: SeedOptions): Promise<Seeded> {
  const client = new Client({ connectionString: options.databaseUrl, application_name: 'proxy-rental seed' });
  await client.connect();
  try {
    await client.query(SESSION);
    await beginAlone(client);
    await fill(client, options);
    // The seeded orders are older than the log of events.
    await client.query('UPDATE installation SET events_began_at = clock_timestamp()');
    await client.query('COMMIT');
    await client.query('RESET session_replication_role');
    options.onProgress?.('vacuum');
    await client.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`);
    return await createSampleUser(client);
  } finally {
    await client.end();
  }
}

async function beginAlone(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM users LIMIT 1');
  if (rowCount) throw new Error('The database has users already');
  await client.query(`BEGIN; LOCK TABLE ${TABLES.join(', ')} IN ACCESS EXCLUSIVE MODE`);
}

async function fill(client: Client, options: SeedOptions): Promise<void> {
  const { users, entriesPerUser, proxiesPerUser, seed, onProgress = () => undefined } = options;
  const ordersPerUser = entriesPerUser / ENTRIES_PER_ORDER;
  const plan: SeedPlan = { users, ordersPerUser, proxiesPerUser, seed, until: await nowSeconds(client) };
  await withoutIndexes(client, TABLES, async () => {
    const history = historyOf(plan, ALL_SCOPES);
    for (const [step, [statement, parameters]] of history.entries()) {
      onProgress(`step ${step + 1} of ${history.length}`);
      await client.query(statement, parameters);
    }
    onProgress('indexes');
  });
  await client.query(writeUnmatchedProxies, [UNMATCHED_PROXIES]);
  // The job sums up all days again, because seeded sales fall on days that were already summed up.
  await client.query('DELETE FROM sales_days; DELETE FROM sales_rollup');
  for (const table of ['users', 'orders', 'proxies']) {
    await client.query(`SELECT setval(pg_get_serial_sequence($1, 'id'), max(id)) FROM ${table}`, [table]);
  }
}

async function createSampleUser(client: Client): Promise<Seeded> {
  const { rows: found } = await client.query<{ id: string; proxies: number }>(findSampleUser, [
    SAMPLE_PROXIES,
  ]);
  const sample = {
    userId: Number(found[0]?.id ?? 1),
    proxies: found[0]?.proxies ?? 0,
    token: generateToken(),
  };
  await client.query(
    `INSERT INTO api_tokens (user_id, token_hash, name, scopes) VALUES ($1, $2, 'seed', $3)`,
    [sample.userId, hashToken(sample.token), ALL_SCOPES],
  );
  await client.query(
    `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       VALUES ($1, 'topup', $2, 0, 'seed')`,
    [sample.userId, SAMPLE_TOPUP],
  );
  const { rows } = await client.query<Record<(typeof TABLES)[number] | 'bytes', string>>(
    `SELECT ${TABLES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ')},
            pg_database_size(current_database()) AS bytes`,
  );
  const count = (name: (typeof TABLES)[number]): [string, number] => [name, Number(rows[0]?.[name])];
  return {
    rows: Object.fromEntries(TABLES.map(count)) as Seeded['rows'],
    databaseBytes: Number(rows[0]?.bytes),
    sample,
  };
}

async function nowSeconds(client: Client): Promise<number> {
  const { rows } = await client.query<{ now: number }>(
    'SELECT floor(extract(epoch FROM now()))::float8 AS now',
  );
  return Number(rows[0]?.now);
}
