import { Client } from 'pg';
import type { Fixture } from '../support/fixture';
import type { Customer } from '../support/order-client';
import { placeOrder, purchase } from './requests';

/** The service's limit for one order. */
const PROXIES_PER_ORDER = 1000;
const READERS = 25;
/** Enough that concurrent requests rarely share a user or a proxy. */
const BUYERS = 200;
const PROLONGING_USERS = 256;
const PROXIES_PER_PROLONGING_USER = 8;
const PURCHASES_PER_BUYER = 3;
const BALANCE = '99999999999.00';
/**
 * Ids start in ranges of their own, so that in a recorded statement ids differ from counts and each other.
 */
const FIRST_ID = 10_000_000;
const AMPLE_STOCK = 1_000_000_000;

/** Gives each customer in $1 $2 proxies, some of them expired and a few withdrawn. */
const INSERT_PROXIES = `
  WITH placed AS (
    INSERT INTO orders (id, group_id, user_id, kind, state, tag, country, version, period, count, proxy_type,
                        unit_price, held, captured,
                        provider, provider_price, provider_charge, provider_order_id, deadline, next_look_at,
                        submitted_at, closed_at)
    SELECT id, id, owner, 'purchase', 'completed', 'bench.o' || id, 'ru', '6', 30, size, 'http', 25.08,
           25.08 * size, 25.08 * size,
           'px6', 20.90 * size, 20.90 * size, 'bench' || id, now(), now(), now(), now()
      FROM (SELECT nextval(pg_get_serial_sequence('orders', 'id')) AS id, owner,
            least($2 - first, ${PROXIES_PER_ORDER}) AS size
              FROM unnest($1::bigint[]) AS owner, generate_series(0, $2::integer - 1, ${PROXIES_PER_ORDER})
                  AS first) AS part
    RETURNING *
  ),
  entries AS (
    INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
    SELECT user_id, kind, id, available_delta, held_delta
      FROM (SELECT user_id, 1 AS step, 'hold' AS kind, id, -held AS available_delta, held AS held_delta
            FROM placed
            UNION ALL
            SELECT user_id, 2, 'capture', id, 0, -held FROM placed) AS entry
     ORDER BY user_id, id, step
  )
  INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password,
                       proxy_type, country, version,
                       date_start, date_end, active, withdrawn_at, descr)
  SELECT user_id, id, provider, 'bench' || id || '.' || n, format('45.90.%s.%s', n / 250 % 250, 1 + n % 250),
         (1024 + n % 60000)::text,
         substr(md5(format('%s %s', id, n)), 1, 6), substr(md5(format('%s %s', id, n)), 7, 8), proxy_type,
         country, version, moment,
         CASE WHEN n % 10 = 9 THEN moment ELSE moment + interval '30 days' END, n % 10 <> 9,
         CASE WHEN n % 500 = 499 THEN moment END, CASE WHEN n % 50 = 0 THEN 'Nº ' || n END
    FROM placed, generate_series(1, count) AS n, date_trunc('second', now()) AS moment
   ORDER BY user_id, id, n
  RETURNING id`;

/** Customers with proxies and balances, created on first use so that a short run creates few. */
export class CustomerPool {
  private readonly pools = new Map<string, Promise<readonly Customer[]>>();

  constructor(private readonly fixture: Fixture) {}

  /** Gives the sandbox ample stock and balance, and moves the id sequences to ranges of their own. */
  async prepare(): Promise<void> {
    const { control } = this.fixture;
    await control.setRateLimit(null);
    await control.setBalance('1000000000.00');
    await control.setStock('6', 'ru', AMPLE_STOCK);
    await this.fixture.query(
      'CREATE SEQUENCE IF NOT EXISTS bench_numbers; GRANT USAGE ON SEQUENCE bench_numbers TO PUBLIC',
    );
    // A new sandbox gives its ids again: those of an earlier run in this database make way.
    await this.fixture.query(
      `UPDATE proxies SET provider_proxy_id = 'earlier' || id
        WHERE user_id >= $1 AND provider_proxy_id ~ '^[0-9]+$'`,
      [FIRST_ID],
    );
    for (const [at, table] of ['users', 'orders', 'proxies', 'api_tokens'].entries()) {
      await this.fixture.query(
        `SELECT setval(seq, greatest($2, nextval(seq)))
           FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS seq) AS its`,
        [table, (at + 1) * FIRST_ID],
      );
    }
  }

  buyers(): Promise<readonly Customer[]> {
    return this.cached('buyers', () => this.createRich(BUYERS));
  }

  /** The one customer of the contention workloads, whose account every order locks. */
  async busyBuyer(): Promise<Customer> {
    const [customer] = await this.cached('busy', () => this.createRich(1));
    return customer as Customer;
  }

  /** Customers who only read, each with that many proxies. */
  readersWith(proxies: number): Promise<readonly Customer[]> {
    const count = proxies > PROXIES_PER_ORDER ? 1 : READERS;
    return this.cached(`readers ${proxies}`, async () => {
      const customers = await this.fixture.createCustomers(count);
      await this.insertProxies(customers, proxies);
      return customers;
    });
  }

  /** Proxies with consecutive ids, unknown to the sandbox, for pgbench to prolong in the database alone. */
  async proxiesToProlong(): Promise<{ readonly first: number; readonly count: number }> {
    const customers = await this.createRich(PROLONGING_USERS);
    const ids = await this.insertProxies(customers, PROXIES_PER_PROLONGING_USER);
    return { first: Math.min(...ids), count: ids.length };
  }

  /** Proxies of all buyers, bought one at a time through the service. */
  async boughtProxies(
    baseUrl: string,
  ): Promise<readonly { readonly customer: Customer; readonly proxyId: string }[]> {
    const bought: { customer: Customer; proxyId: string }[] = [];
    for (let round = 0; round < PURCHASES_PER_BUYER; round += 1) {
      bought.push(...(await Promise.all((await this.buyers()).map((customer) => buyOne(baseUrl, customer)))));
    }
    return bought;
  }

  private async insertProxies(customers: readonly Customer[], proxies: number): Promise<number[]> {
    // The service's own connections have a statement timeout.
    const client = new Client({ connectionString: this.fixture.environment.DATABASE_OWNER_URL });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string }>(INSERT_PROXIES, [
        customers.map(({ id }) => id),
        proxies,
      ]);
      for (const table of ['proxies', 'orders', 'ledger_entries']) {
        await client.query(`VACUUM (ANALYZE) ${table}`);
      }
      return rows.map(({ id }) => Number(id));
    } finally {
      await client.end();
    }
  }

  /** Creates customers whose balance lasts for minutes of purchases of a hundred proxies. */
  private async createRich(count: number): Promise<readonly Customer[]> {
    const customers = await this.fixture.createCustomers(count);
    await this.fixture.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       SELECT id, 'topup', ${BALANCE}, 0, 'bench' FROM unnest($1::bigint[]) AS id`,
      [customers.map(({ id }) => id)],
    );
    return customers;
  }

  private cached(name: string, make: () => Promise<readonly Customer[]>): Promise<readonly Customer[]> {
    const pool = this.pools.get(name) ?? make();
    this.pools.set(name, pool);
    return pool;
  }
}

async function buyOne(baseUrl: string, customer: Customer): Promise<{ customer: Customer; proxyId: string }> {
  const { proxies } = await placeOrder(baseUrl, purchase(customer.token, 1));
  return { customer, proxyId: proxies?.[0]?.id ?? '' };
}
