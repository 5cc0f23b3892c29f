import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closeAll, createDrillDirectory } from '../../drills/support/accounts';
import type { Customer } from '../../drills/support/clients';
import { inDatabase, queryAt, withClient } from '../../drills/support/database';
import { Office } from '../../drills/support/office';
import {
  type BuiltReplica,
  type SandboxAddress,
  startReplica,
  startSandboxProcess,
} from '../../drills/support/service';
import { ALL_SCOPES } from '../../src/auth';
import { generateToken, hashToken } from '../../src/auth/token-text';
import { type DatabaseAddress, migrate } from '../../src/database';
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from '../../src/local';
import { SandboxControl } from '../../src/sandbox';

export interface OwnedDatabase extends DatabaseAddress {
  readonly ownerUrl: string;
}

const BALANCE = '99999999999.00';
const AMPLE_STOCK = 1_000_000_000;
/** A sweep would mark the inserted proxies, which the sandbox does not know, as withdrawn. */
const NEVER_SECONDS = '86400';
const NO_LIMIT = '1000000000';

export class Place {
  private constructor(
    private readonly postgres: EmbeddedPostgres,
    private readonly sandbox: SandboxAddress,
    readonly postmasterPid: number,
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async open(dataDir?: string): Promise<Place> {
    const closers: (() => Promise<unknown>)[] = [];
    try {
      const directory = await createDrillDirectory('bench');
      closers.push(() => directory.remove());
      const place = dataDir ?? directory.path;
      const postgres = await acquireEmbeddedPostgres({ dataDir: place, onNote: () => undefined });
      closers.push(() => postgres.release());
      const pidFile = await readFile(join(place, 'postgres', 'data', 'postmaster.pid'), 'utf8');
      const sandbox = await startSandboxProcess(await directory.create('sandbox'));
      closers.push(() => sandbox.stop());
      const control = new SandboxControl(sandbox.address);
      await control.setBalance('1000000000.00');
      await control.setStock('6', 'ru', AMPLE_STOCK);
      return new Place(postgres, sandbox.address, Number.parseInt(pidFile, 10), closers);
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  close(): Promise<void> {
    return closeAll(this.closers);
  }

  async openDatabase(name: string): Promise<OwnedDatabase> {
    const { url, ownerUrl } = this.postgres;
    const found = await queryAt(ownerUrl, 'SELECT FROM pg_database WHERE datname = $1', [name]);
    if (found.length === 0) await queryAt(ownerUrl, `CREATE DATABASE ${name}`);
    const database = { url: inDatabase(url, name), ownerUrl: inDatabase(ownerUrl, name) };
    await migrate(database);
    return database;
  }

  environmentOf({ url, ownerUrl }: OwnedDatabase): Record<string, string> {
    return {
      DATABASE_URL: url,
      DATABASE_OWNER_URL: ownerUrl,
      PX6_BASE_URL: this.sandbox.baseUrl,
      PX6_API_KEY: this.sandbox.apiKey,
      PROVIDER_RATE_PER_SECOND: '0',
      SWEEP_INTERVAL_SECONDS: NEVER_SECONDS,
      TOKEN_REQUESTS_PER_MINUTE: NO_LIMIT,
      USER_REQUESTS_PER_MINUTE: NO_LIMIT,
      LOG_LEVEL: 'error',
      MIGRATE_ON_START: 'false',
      AUDIT_TIME: 'off',
    };
  }

  async startService(database: OwnedDatabase, nodeOptions: readonly string[] = []): Promise<BuiltReplica> {
    const service = await startReplica(this.environmentOf(database), { nodeOptions });
    this.closers.push(() => service.stop());
    return service;
  }

  async audit(database: OwnedDatabase): Promise<void> {
    const office = await Office.open(this.environmentOf(database));
    try {
      // The provider does not know the inserted proxies.
      const violations = await office.findViolations({ withProvider: false });
      if (violations.length > 0) throw new Error(violations.join('\n'));
    } finally {
      await office.close();
    }
  }
}

/** $1: the customers; $2: proxies of each. One in ten has ended. */
const SELL_PROXIES = `
  WITH placed AS (
    INSERT INTO orders (id, batch_id, user_id, kind, state, order_reference, country, version, period, count,
                        proxy_type, unit_price, hold_amount, captured, provider, provider_price,
                        provider_charge,
                        provider_order_id, sent_before, next_search_at, submitted_at, closed_at)
    SELECT id, id, owner, 'purchase', 'completed', 'bench.' || owner, 'ru', '6', 30, size, 'http', 25.08,
           25.08 * size, 25.08 * size, 'px6', 20.90 * size, 20.90 * size, 'bench' || owner, now(), now(),
           now(), now()
      FROM (SELECT nextval(pg_get_serial_sequence('orders', 'id')) AS id, owner, $2::integer AS size
              FROM unnest($1::bigint[]) AS owner) AS sale
    RETURNING *
  ), entries AS (
    INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
    SELECT user_id, kind, id, available_delta, held_delta
      FROM (SELECT user_id, 1 AS step, 'hold' AS kind, id, -hold_amount AS available_delta,
                   hold_amount AS held_delta
              FROM placed
             UNION ALL
            SELECT user_id, 2, 'capture', id, 0, -hold_amount FROM placed) AS entry
     ORDER BY user_id, step
  )
  INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                       proxy_type, country, version, period, date_start, date_end, active)
  SELECT user_id, id, provider, 'bench' || id || '.' || n, format('45.90.%s.%s', n / 250 % 250, 1 + n % 250),
         (1024 + n % 60000)::text, substr(md5(format('%s %s', id, n)), 1, 6),
         substr(md5(format('%s %s', id, n)), 7, 8), proxy_type, country, version, period, moment,
         CASE WHEN n % 10 = 9 THEN moment ELSE moment + interval '30 days' END, n % 10 <> 9
    FROM placed, generate_series(1, count) AS n, date_trunc('second', now()) AS moment
   ORDER BY user_id, n`;

/** @param proxies how many each customer has, from one order: 1,000 at most */
export function createCustomers(
  { ownerUrl }: OwnedDatabase,
  count: number,
  proxies = 0,
): Promise<readonly Customer[]> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO users (username) SELECT 'bench' FROM generate_series(1, $1) RETURNING id`,
      [count],
    );
    const customers = rows.map(({ id }) => ({ id: Number(id), token: generateToken() }));
    const ids = customers.map(({ id }) => id);
    await client.query(
      `INSERT INTO api_tokens (user_id, token_hash, name, scopes)
       SELECT user_id, token_hash, 'bench', $3
         FROM unnest($1::bigint[], $2::bytea[]) AS token (user_id, token_hash)`,
      [ids, customers.map(({ token }) => hashToken(token)), ALL_SCOPES],
    );
    await client.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       SELECT id, 'topup', ${BALANCE}, 0, 'bench' FROM unnest($1::bigint[]) AS id`,
      [ids],
    );
    if (proxies > 0) await client.query(SELL_PROXIES, [ids, proxies]);
    await client.query('VACUUM (ANALYZE) users, api_tokens, orders, ledger_entries, proxies');
    return customers;
  });
}
