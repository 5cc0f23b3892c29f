import { DataSource } from 'typeorm';
import { seedDatabase } from '../../bench/seeding/seed-database';
import { dataSourceOptions } from '../../src/database';
import { INVARIANTS } from '../../src/integrity/invariants';
import { SCOPE_SQL } from '../../src/integrity/scopes';
import { forAllTests } from '../support/fixtures';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const SEED = { users: 40, entriesPerUser: 10, proxiesPerUser: 20, seed: 7 };

describe('bench:seed', () => {
  const connect = ({ url }: TestDatabase): Promise<DataSource> =>
    new DataSource(dataSourceOptions({ url, poolSize: 2, applicationName: 'test' })).initialize();

  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connect(database));
  const schemaBefore = forAllTests(() => schema());
  const seeded = forAllTests(() => seed());
  const seed = () => seedDatabase({ databaseUrl: database.ownerUrl, ...SEED });
  const rows = <Row = { name: string }>(statement: string): Promise<Row[]> => dataSource.query(statement);

  async function violations(): Promise<string[]> {
    const broken: string[] = [];
    for (const { name, violations: statement } of INVARIANTS) {
      if ((await rows(`${SCOPE_SQL.all} ${statement}`)).length > 0) broken.push(name);
    }
    return broken;
  }

  const schema = () =>
    rows(
      `SELECT pg_get_indexdef(indexrelid) AS name FROM pg_index WHERE indrelid > 16383
       UNION ALL SELECT conrelid::regclass || ' ' || conname || pg_get_constraintdef(oid) FROM pg_constraint
           WHERE conrelid > 16383
       UNION ALL SELECT concat_ws(' ', tgname, tgenabled) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`,
    );

  async function findDangling(): Promise<string[]> {
    const keys = await rows<{ key: string; child: string; column: string; parent: string }>(
      `SELECT conname AS key, conrelid::regclass AS child, attname AS column, confrelid::regclass AS parent
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
             WHERE contype = 'f'`,
    );
    const dangling: string[] = [];
    for (const { key, child, column, parent } of keys) {
      const found = await rows(
        `SELECT FROM ${child} WHERE ${column} IS NOT NULL AND ${column} NOT IN (SELECT id FROM ${parent})
           LIMIT 1`,
      );
      if (found.length > 0) dangling.push(key);
    }
    expect(keys.length).toBeGreaterThan(5);
    return dangling;
  }

  it('fills an empty database with consistent books and leaves its schema unchanged', async () => {
    const { rows: counts, sample } = seeded;
    expect(counts).toMatchObject({ users: 40, accounts: 40 });
    expect(counts.proxies).toBeGreaterThan(680);
    expect(counts.ledger_entries).toBeGreaterThan(340);
    expect(sample.proxies).toBeGreaterThan(0);
    expect(await violations()).toEqual([]);
    expect(await findDangling()).toEqual([]);
    expect(await schema()).toEqual([...schemaBefore]);
  });

  it('writes entries in chronological order, after the rows that they refer to', async () => {
    const late = await rows(
      `SELECT FROM (SELECT created_at, lag(created_at) OVER (ORDER BY id) AS before,
                           lag(created_at) OVER (PARTITION BY user_id ORDER BY seq) AS before_of_user
                               FROM ledger_entries) AS entry
        WHERE created_at < before OR created_at < before_of_user
       UNION ALL SELECT FROM ledger_entries e JOIN orders o ON o.id = order_id
           WHERE e.created_at < o.created_at
       UNION ALL SELECT FROM orders o JOIN users u ON u.id = user_id
           WHERE o.created_at < u.created_at OR closed_at < o.created_at
       UNION ALL SELECT FROM orders o JOIN proxies p ON p.id = proxy_id WHERE o.created_at < p.created_at
       UNION ALL SELECT FROM orders o JOIN proxies p ON p.id = proxy_id WHERE o.state = 'completed'
           AND p.date_end < o.date_end_before
       UNION ALL SELECT FROM orders WHERE created_at > now() OR closed_at > now()`,
    );
    expect(late).toEqual([]);
  });

  it('advances the id sequences', async () => {
    for (const table of ['users', 'orders', 'proxies']) {
      const [next] = await rows(
        `SELECT nextval(pg_get_serial_sequence('${table}', 'id')) > (SELECT max(id) FROM ${table}) AS name`,
      );
      expect(next).toEqual({ name: true });
    }
  });

  it('refuses a database with users', async () => {
    await expect(seed()).rejects.toThrow('The database has users already');
  });

  it('gives the same data for the same seed, and different data for another seed', async () => {
    const digest = async (of: TestDatabase): Promise<unknown> => {
      const other = await connect(of);
      try {
        return await other.query(
          `SELECT (SELECT md5(string_agg(concat_ws(' ', username, tg_id, web_username), ',' ORDER BY id))
                   FROM users) AS users,
                  (SELECT md5(string_agg(concat_ws(' ', user_id, kind, state, country, version, period,
                                                 hold_amount),
                                         ',' ORDER BY id)) FROM orders) AS orders,
                  (SELECT md5(string_agg(concat_ws(' ', order_id, host, port, login, password), ','
                                         ORDER BY id)) FROM proxies) AS proxies`,
        );
      } finally {
        await other.destroy();
      }
    };
    const others = [await createTestDatabase(), await createTestDatabase()] as const;
    try {
      await seedDatabase({ databaseUrl: others[0].ownerUrl, ...SEED });
      await seedDatabase({ databaseUrl: others[1].ownerUrl, ...SEED, seed: SEED.seed + 1 });
      const first = await digest(database);
      expect(await digest(others[0])).toEqual(first);
      expect(await digest(others[1])).not.toEqual(first);
    } finally {
      for (const other of others) await other.drop();
    }
  });
});
