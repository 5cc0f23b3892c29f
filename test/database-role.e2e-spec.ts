import { findExcessiveRights } from '../src/database';
import { forAllTests } from './support/fixtures';
import { connectClient, connectTo, createTestDatabase } from './support/test-database';

/** Statements that a thief of the service's password could send, in sequence. */
const ATTACKS: Readonly<Record<string, readonly string[]>> = {
  'an update of a balance': ['UPDATE accounts SET available = available + 1000'],
  'an update of what is held': ['UPDATE accounts SET held = 0'],
  'an update of one column of a balance by a join': [
    'UPDATE accounts SET available = 1000 FROM users WHERE users.id = accounts.user_id',
  ],
  'a data-modifying query': [
    'WITH raised AS (UPDATE accounts SET available = 1000 RETURNING 1) TABLE raised',
  ],
  'a deleted account': ['DELETE FROM accounts'],
  'a truncated table of accounts': ['TRUNCATE accounts'],
  'an account that begins with money': ['INSERT INTO accounts (user_id, available) VALUES (99, 1000)'],
  'an account that is inserted again': [
    'INSERT INTO accounts (user_id) VALUES (1) ON CONFLICT (user_id) DO UPDATE SET available = 1000',
  ],
  'MERGE into the accounts': [
    'MERGE INTO accounts USING users ON users.id = user_id WHEN MATCHED THEN UPDATE SET available = 1000',
  ],
  'COPY into the accounts': [`COPY accounts FROM PROGRAM 'echo 99,1000'`],
  'a lock on the accounts': ['LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE'],
  'an update of an entry': ['UPDATE ledger_entries SET available_delta = 1000'],
  'an update of an entry that exists': [
    `INSERT INTO ledger_entries (id, user_id, kind, available_delta, held_delta) VALUES (1, 1, 'topup', 1, 0)
     ON CONFLICT (id) DO UPDATE SET available_after = 1000`,
  ],
  'an entry with a balance of its own choice': [
    `INSERT INTO ledger_entries (user_id, seq, kind, available_delta, held_delta, available_after, held_after)
     VALUES (1, 2, 'topup', 1, 0, 1000, 0)`,
  ],
  'an entry that is merged into another': [
    `MERGE INTO ledger_entries USING users ON users.id = user_id
      WHEN MATCHED THEN UPDATE SET available_delta = 1000`,
  ],
  'a deleted entry': ['DELETE FROM ledger_entries'],
  'a truncated ledger': ['TRUNCATE ledger_entries'],
  'a truncated table that the ledger refers to': ['TRUNCATE users CASCADE'],
  'a temporary table with a trigger': [
    'CREATE TEMPORARY TABLE lever (n integer)',
    `CREATE FUNCTION pg_temp.pull() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN UPDATE accounts SET available = available + 1000; RETURN NEW; END'`,
    'CREATE TRIGGER pull BEFORE INSERT ON lever FOR EACH ROW EXECUTE FUNCTION pg_temp.pull()',
    'INSERT INTO lever VALUES (1)',
  ],
  'a temporary table that stands before the accounts': [
    'CREATE TEMPORARY TABLE accounts (LIKE public.accounts)',
    `INSERT INTO pg_temp.accounts VALUES (1, 1000, 0, 0, 0)`,
  ],
  'a temporary table made by a query': ['SELECT * INTO TEMPORARY lever FROM accounts'],
  'a temporary view': ['CREATE TEMPORARY VIEW lever AS TABLE accounts'],
  'a temporary sequence': ['CREATE TEMPORARY SEQUENCE lever'],
  'a function': [
    `CREATE FUNCTION raise() RETURNS void LANGUAGE sql AS 'UPDATE accounts SET available = 1000'`,
  ],
  'a changed function': [
    `CREATE OR REPLACE FUNCTION open_account() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  ],
  'a function that is no longer there': ['DROP FUNCTION apply_ledger_entries() CASCADE'],
  'a function with another path': ['ALTER FUNCTION apply_ledger_entries() SET search_path = pg_temp, public'],
  'a function called outside its trigger': ['SELECT apply_ledger_entries()'],
  'a code block': [`DO 'BEGIN UPDATE accounts SET available = 1000; END'`],
  'a schema to stand before public': ['CREATE SCHEMA lever'],
  'a table to stand before the accounts': ['CREATE TABLE public.lever (n integer)'],
  'a view on the accounts': ['CREATE VIEW lever AS TABLE accounts', 'UPDATE lever SET available = 1000'],
  'a rule': ['CREATE RULE lever AS ON INSERT TO users DO ALSO UPDATE accounts SET available = 1000'],
  'a trigger of its own': [
    'CREATE TRIGGER lever AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION open_account()',
  ],
  'triggers that are disabled': ['ALTER TABLE accounts DISABLE TRIGGER ALL'],
  'triggers that do not fire for a replica': [
    'SET session_replication_role = replica',
    'UPDATE accounts SET available = 1000',
  ],
  'a dropped trigger': ['DROP TRIGGER ledger_entries_append_only ON ledger_entries'],
  'a dropped check': ['ALTER TABLE accounts DROP CONSTRAINT accounts_available_check'],
  'a changed table': ['ALTER TABLE users ADD COLUMN lever integer'],
  'a dropped table': ['DROP TABLE accounts CASCADE'],
  'another owner': ['ALTER TABLE accounts OWNER TO CURRENT_USER'],
  'rights that it gives itself': ['GRANT UPDATE ON accounts TO CURRENT_USER', 'UPDATE accounts SET held = 0'],
  'the role of the owner': ['SET ROLE postgres', 'UPDATE accounts SET available = 1000'],
  'the session of the owner': ['SET SESSION AUTHORIZATION postgres'],
  'a role of its own': ['CREATE ROLE lever SUPERUSER'],
  'more rights for its role': ['ALTER ROLE CURRENT_USER SUPERUSER'],
  'a program on the server': [`COPY users (username) FROM PROGRAM 'echo lever'`],
  'an extension': ['CREATE EXTENSION adminpack'],
  'a line of the audit log that is rewritten': [`UPDATE audit_log SET reason = ''`],
  "a proxy's past that is rewritten": [`UPDATE proxy_changes SET before = ''`],
  "a proxy's past that is forgotten": ['DELETE FROM proxy_changes'],
  "a proxy's past that is made up": [
    `INSERT INTO proxy_changes (proxy_id, user_id, kind) VALUES (1, 1, 'withdrawn')`,
  ],
  'an event that is rewritten': [`UPDATE events SET data = '{}'`],
  'an event that is published out of turn': [
    `INSERT INTO events (user_id, type, data, position) VALUES (1, 'order.completed', '{}', 1)`,
  ],
  'a truncated audit log': ['TRUNCATE audit_log CASCADE'],
};

/** Autovacuum may write these columns of `pg_class` at any time. */
const VACUUMED = ['relpages', 'reltuples', 'relallvisible', 'relallfrozen', 'relfrozenxid', 'relminmxid'];

describe("The service's role", () => {
  const database = forAllTests(createTestDatabase);
  const owner = forAllTests(() => connectClient(database.ownerUrl));
  const thief = forAllTests(() => connectClient(database.url));
  beforeAll(async () => {
    await owner.query(`
      INSERT INTO users (username) VALUES ('anna'), ('boris');
      INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta) VALUES (1, 'topup', 10, 0)`);
  });

  /** Sends all statements in a session of their own, even after a refusal, and returns the refusals. */
  async function attack(statements: readonly string[]): Promise<string[]> {
    const refusals: string[] = [];
    for (const statement of statements) {
      await thief.query(statement).catch((error: Error) => refusals.push(error.message));
    }
    await thief.query('DISCARD ALL');
    return refusals;
  }

  const readBooks = async () =>
    (
      await owner.query(
        `SELECT (SELECT json_agg(a ORDER BY user_id) FROM accounts a)::text AS accounts,
                (SELECT json_agg(e ORDER BY id) FROM ledger_entries e)::text AS entries,
                (SELECT json_agg(t ORDER BY oid) FROM pg_trigger t)::text AS triggers,
                (SELECT json_agg(to_jsonb(t) - $1::text[] ORDER BY oid) FROM pg_class t)::text AS tables`,
        [VACUUMED],
      )
    ).rows;

  describe('does not get anywhere', () => {
    let before: unknown;
    beforeAll(async () => {
      before = await readBooks();
    });

    it.each(Object.entries(ATTACKS))('with %s', async (_, statements) => {
      expect(await attack(statements)).not.toEqual([]);
      expect(await readBooks()).toEqual(before);
    });
  });

  it('leaves a balance unchanged if the entry is not inserted', async () => {
    const before = await readBooks();
    const outcome = await attack([
      `INSERT INTO ledger_entries (id, user_id, kind, available_delta, held_delta)
       VALUES (1, 1, 'topup', 1000, 0) ON CONFLICT DO NOTHING`,
    ]);
    expect(outcome).toEqual([]);
    expect(await readBooks()).toEqual(before);
  });

  it('sets a threshold of a balance, and nothing else of the account', async () => {
    const [account] = (await owner.query('SELECT * FROM accounts WHERE user_id = 1')).rows;
    expect(await attack(['UPDATE accounts SET low_balance = 5 WHERE user_id = 1'])).toEqual([]);
    const { rows } = await owner.query('SELECT * FROM accounts WHERE user_id = 1');
    expect(rows).toEqual([{ ...account, low_balance: '5.00' }]);
  });

  it('changes a balance by a ledger entry', async () => {
    const service = await connectClient(database.url);
    const { rows } = await service.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta) VALUES (2, 'topup', 5, 0)
       RETURNING seq::int, available_after`,
    );
    expect(rows).toEqual([{ seq: 1, available_after: '5.00' }]);
    expect((await service.query('SELECT * FROM lock_accounts(ARRAY[2])')).rows).toMatchObject([
      { available: '5.00', held: '0.00' },
    ]);
    await service.end();
  });

  it('may do nothing that the start would complain about, unlike the owner', async () => {
    const rightsOf = async (url: string) => {
      const dataSource = await connectTo(url, 1);
      try {
        return await findExcessiveRights(dataSource);
      } finally {
        await dataSource.destroy();
      }
    };
    expect(await rightsOf(database.url)).toEqual([]);
    expect(await rightsOf(database.ownerUrl)).toEqual(
      expect.arrayContaining(['is a superuser', 'may create temporary tables', 'may write to accounts']),
    );
    await owner.query('GRANT UPDATE (held) ON accounts TO PUBLIC');
    try {
      expect(await rightsOf(database.url)).toEqual(['may write to accounts']);
    } finally {
      await owner.query('REVOKE UPDATE (held) ON accounts FROM PUBLIC');
    }
  });

  describe('with the rights that it had before', () => {
    beforeAll(async () => {
      await owner.query(`
        GRANT ALL ON accounts, ledger_entries TO PUBLIC;
        DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database()); END $$`);
    });
    afterAll(async () => {
      await owner.query(`
        REVOKE ALL ON accounts, ledger_entries FROM PUBLIC;
        DO $$
        BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$`);
    });

    it('does not get anywhere with a trigger of its own either, because the commit is refused', async () => {
      const before = (await owner.query('TABLE accounts')).rows;
      const refusals = await attack(ATTACKS['a temporary table with a trigger'] ?? []);
      expect(refusals.join()).toContain('changed without a ledger entry');
      expect((await owner.query('TABLE accounts')).rows).toEqual(before);
    });

    it('does not overdraw a balance by a temporary table that stands before the accounts', async () => {
      const statements = [
        'CREATE TEMPORARY TABLE accounts (LIKE public.accounts)',
        'INSERT INTO pg_temp.accounts VALUES (1, 1000, 0, 0, 0)',
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta)
         VALUES (1, 'adjustment', -1000, 0)`,
      ];
      expect((await attack(statements)).join()).toContain('accounts_available_check');
    });
  });
});
