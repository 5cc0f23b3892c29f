import { Client } from 'pg';
import type { Fixture } from '../support/fixture';
import type { Customer } from '../support/order-client';
import { placeOrder, purchase } from './requests';

/** Of one order at most, as the service allows. */
const PROXIES_PER_ORDER = 1000;
const READERS = 25;
/** So many requests at once must not meet at one user, nor at one proxy. */
const BUYERS = 200;
const PROLONGING_USERS = 256;
const PROXIES_OF_EACH = 8;
const PURCHASES_OF_EACH = 3;
const BALANCE = '99999999999.00';
/** So that a number in a recorded statement is told from a count, and an order's from a user's. */
const FIRST_ID = 10_000_000;
const PLENTY = 1_000_000_000;

/** Customers that own so many proxies each, of all kinds: some have ended, a few were withdrawn. */
const GIVE_PROXIES = `
  WITH placed AS (
    INSERT INTO orders (id, group_id, user_id, kind, state, tag, country, version, period, count, proxy_type, unit_price, held, captured,
                        provider, provider_price, provider_charge, provider_order_id, deadline, next_look_at, submitted_at, closed_at)
    SELECT id, id, owner, 'purchase', 'completed', 'bench.o' || id, 'ru', '6', 30, size, 'http', 25.08, 25.08 * size, 25.08 * size,
           'px6', 20.90 * size, 20.90 * size, 'bench' || id, now(), now(), now(), now()
      FROM (SELECT nextval(pg_get_serial_sequence('orders', 'id')) AS id, owner, least($2 - first, ${PROXIES_PER_ORDER}) AS size
              FROM unnest($1::bigint[]) AS owner, generate_series(0, $2::integer - 1, ${PROXIES_PER_ORDER}) AS first) AS part
    RETURNING *
  ),
  entries AS (
    INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
    SELECT user_id, kind, id, available_delta, held_delta
      FROM (SELECT user_id, 1 AS step, 'hold' AS kind, id, -held AS available_delta, held AS held_delta FROM placed
            UNION ALL
            SELECT user_id, 2, 'capture', id, 0, -held FROM placed) AS entry
     ORDER BY user_id, id, step
  )
  INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, host, port, login, password, proxy_type, country, version,
                       date_start, date_end, active, withdrawn_at, descr)
  SELECT user_id, id, provider, 'bench' || id || '.' || n, format('45.90.%s.%s', n / 250 % 250, 1 + n % 250), (1024 + n % 60000)::text,
         substr(md5(format('%s %s', id, n)), 1, 6), substr(md5(format('%s %s', id, n)), 7, 8), proxy_type, country, version, moment,
         CASE WHEN n % 10 = 9 THEN moment ELSE moment + interval '30 days' END, n % 10 <> 9,
         CASE WHEN n % 500 = 499 THEN moment END, CASE WHEN n % 50 = 0 THEN 'Nº ' || n END
    FROM placed, generate_series(1, count) AS n, date_trunc('second', now()) AS moment
   ORDER BY user_id, id, n
  RETURNING id`;

/** Who plays: made when first asked for, so that a short run makes few. */
export class CustomerPool {
  private readonly groups = new Map<string, Promise<readonly Customer[]>>();

  constructor(private readonly fixture: Fixture) {}

  /** A provider that never runs out of anything, and numbers for what stands in for its own. */
  async prepare(): Promise<void> {
    const { control } = this.fixture;
    await control.setRateLimit(null);
    await control.setBalance('1000000000.00');
    await control.setStock('6', 'ru', PLENTY);
    await this.fixture.query('CREATE SEQUENCE bench_numbers');
    for (const [at, table] of ['users', 'orders', 'proxies', 'api_tokens'].entries()) {
      await this.fixture.query(
        `SELECT setval(seq, greatest($2, nextval(seq))) FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS seq) AS its`,
        [table, (at + 1) * FIRST_ID],
      );
    }
  }

  buyers(): Promise<readonly Customer[]> {
    return this.once('buyers', () => this.createRich(BUYERS));
  }

  /** Whose account is the one that everything happens at. */
  async busyBuyer(): Promise<Customer> {
    const [customer] = await this.once('busy', () => this.createRich(1));
    return customer as Customer;
  }

  /** Users who read, with so many proxies each. */
  readersWith(proxies: number): Promise<readonly Customer[]> {
    const count = proxies > PROXIES_PER_ORDER ? 1 : READERS;
    return this.once(`readers ${proxies}`, async () => {
      const customers = await this.fixture.createCustomers(count);
      await this.giveProxies(customers, proxies);
      return customers;
    });
  }

  /** Some proxies each of many users, that the provider knows nothing of: for what is done in the database alone. Their numbers follow one another. */
  async proxiesToProlong(): Promise<{ readonly first: number; readonly count: number }> {
    const customers = await this.createRich(PROLONGING_USERS);
    const ids = await this.giveProxies(customers, PROXIES_OF_EACH);
    return { first: Math.min(...ids), count: ids.length };
  }

  /** Some proxies each of many users, bought one by one through the service. */
  async boughtProxies(
    baseUrl: string,
  ): Promise<readonly { readonly customer: Customer; readonly proxyId: string }[]> {
    const bought: { customer: Customer; proxyId: string }[] = [];
    for (let round = 0; round < PURCHASES_OF_EACH; round += 1) {
      bought.push(...(await Promise.all((await this.buyers()).map((customer) => buyOne(baseUrl, customer)))));
    }
    return bought;
  }

  private async giveProxies(customers: readonly Customer[], proxies: number): Promise<number[]> {
    // The service's own connections have a limit to what a statement may take.
    const client = new Client({ connectionString: this.fixture.environment.DATABASE_URL });
    await client.connect();
    try {
      const { rows } = await client.query<{ id: string }>(GIVE_PROXIES, [
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

  /** A purchase of a hundred, again and again for minutes, must not end for want of money. */
  private async createRich(count: number): Promise<readonly Customer[]> {
    const customers = await this.fixture.createCustomers(count);
    await this.fixture.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
       SELECT id, 'topup', ${BALANCE}, 0, 'bench' FROM unnest($1::bigint[]) AS id`,
      [customers.map(({ id }) => id)],
    );
    return customers;
  }

  private once(name: string, make: () => Promise<readonly Customer[]>): Promise<readonly Customer[]> {
    const group = this.groups.get(name) ?? make();
    this.groups.set(name, group);
    return group;
  }
}

async function buyOne(baseUrl: string, customer: Customer): Promise<{ customer: Customer; proxyId: string }> {
  const { proxies } = await placeOrder(baseUrl, purchase(customer.token, 1));
  return { customer, proxyId: proxies?.[0]?.id ?? '' };
}
