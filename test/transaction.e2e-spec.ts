import { DataSource, type EntityManager } from 'typeorm';
import {
  dataSourceOptions,
  inTransaction,
  isDatabaseUnavailable,
  type Queryable,
  queryRows,
  TransactionOutcomeUnknown,
} from '../src/database';
import { eventually } from './support/built-service';
import { startDatabaseRelay } from './support/database-relay';
import { forAllTests } from './support/fixtures';
import { createTestDatabase } from './support/test-database';

describe('A transaction', () => {
  const connect = (url: string, poolSize: number) =>
    new DataSource({ ...dataSourceOptions({ url, poolSize, applicationName: 'test' }) }).initialize();

  const database = forAllTests(createTestDatabase);
  const relay = forAllTests(() => startDatabaseRelay(database.url));
  // With one connection, a transaction would meet the remains of the previous one.
  const dataSource = forAllTests(() => connect(relay.url, 1));
  const observer = forAllTests(() => connect(database.ownerUrl, 2));

  const add = (manager: EntityManager, username: string) =>
    manager.query('INSERT INTO users (username) VALUES ($1)', [username]);
  const count = async (username: string): Promise<number> => {
    const [row] = await observer.query<{ n: number }[]>(
      'SELECT count(*)::int AS n FROM users WHERE username = $1',
      [username],
    );
    return row?.n ?? -1;
  };
  const session = async (): Promise<number> =>
    (await dataSource.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid'))[0]?.pid ?? 0;

  it('commits everything at its end and returns the result of the work', async () => {
    const pid = await session();
    const result = await inTransaction(dataSource, async (manager) => {
      await add(manager, 'kept');
      await add(manager, 'kept');
      expect(await count('kept')).toBe(0);
      return 'done';
    });
    expect([result, await count('kept')]).toEqual(['done', 2]);
    expect(await session()).toBe(pid);
  });

  it('is read committed, with any default of the server', async () => {
    await inTransaction(dataSource, async (manager) => {
      expect(await manager.query('SHOW transaction_isolation')).toEqual([
        { transaction_isolation: 'read committed' },
      ]);
    });
  });

  it('keeps nothing when the work fails, and rejects with its error', async () => {
    const pid = await session();
    const failure = new Error('no');
    const attempt = inTransaction(dataSource, async (manager) => {
      await add(manager, 'lost');
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(await session()).toBe(pid);
    expect(await count('lost')).toBe(0);
  });

  it('keeps nothing that the work sends after its failure', async () => {
    const rollback = relay.catchNext({ statement: 'ROLLBACK\0', moment: 'before', action: 'hold' });
    let late: Promise<unknown> = Promise.resolve();
    const attempt = inTransaction(dataSource, async (manager) => {
      late = rollback.reached.then(() => add(manager, 'late'));
      throw new Error('no');
    });
    await rollback.reached;
    await expect(late).rejects.toThrow('released');
    rollback.letGo();
    await expect(attempt).rejects.toThrow('no');
    expect(await count('late')).toBe(0);
  });

  it('closes its connection when the work fails while a statement is executed', async () => {
    const pid = await session();
    const attempt = inTransaction(dataSource, async (manager) => {
      manager
        .query('SELECT pg_sleep(0.2)')
        .then(() => add(manager, 'sent'))
        .catch(() => undefined);
      throw new Error('no');
    });
    await expect(attempt).rejects.toThrow('no');
    expect(await session()).not.toBe(pid);
    expect(await count('sent')).toBe(0);
  });

  it('rejects when the work swallowed an error, so that COMMIT returned ROLLBACK', async () => {
    const attempt = inTransaction(dataSource, async (manager) => {
      await add(manager, 'swallowed');
      await manager.query('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(attempt).rejects.toThrow('an error inside it was swallowed');
    expect(await count('swallowed')).toBe(0);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ] as const)(
    'has an unknown outcome when the connection ends %s the database receives COMMIT',
    async (moment, kept) => {
      const username = `commit-${moment}`;
      relay.catchNext({ statement: 'COMMIT\0', moment, action: 'cut' });
      const error = await inTransaction(dataSource, (manager) => add(manager, username)).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(TransactionOutcomeUnknown);
      expect(isDatabaseUnavailable(error)).toBe(true);
      expect(await count(username)).toBe(kept);
      await inTransaction(dataSource, (manager) => add(manager, `${username}-next`));
      expect(await count(`${username}-next`)).toBe(1);
    },
  );

  it.each(['idle_in_transaction_session_timeout', 'transaction_timeout'])(
    'has an unknown outcome when the server ends its session before COMMIT arrives: %s',
    async (limit) => {
      const commit = relay.catchNext({ statement: 'COMMIT\0', moment: 'before', action: 'hold' });
      const error = await inTransaction(dataSource, async (manager) => {
        await add(manager, limit);
        await manager.query(`SET LOCAL ${limit} = '50ms'`);
      }).catch((thrown: unknown) => thrown);
      commit.letGo();
      expect(error).toBeInstanceOf(TransactionOutcomeUnknown);
      expect([isDatabaseUnavailable(error), await count(limit)]).toEqual([true, 0]);
    },
  );

  it('has failed when the connection ends before COMMIT was sent', async () => {
    relay.catchNext({ statement: 'INSERT INTO users', moment: 'after', action: 'cut' });
    const error = await inTransaction(dataSource, (manager) => add(manager, 'early')).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).not.toBeInstanceOf(TransactionOutcomeUnknown);
    expect([isDatabaseUnavailable(error), await count('early')]).toEqual([true, 0]);
  });

  it.each(['a statement by itself', 'a transaction'])('is retried when it deadlocks: %s', async (what) => {
    const ids = await queryRows<{ id: number }>(
      observer,
      `INSERT INTO users (username) VALUES ('one'), ('two') RETURNING id`,
    );
    const [first, second] = ids.map(({ id }) => id);
    const other = observer.createQueryRunner();
    await other.startTransaction();
    // The other session, which waits longer, must find the deadlock.
    await other.query(`SET LOCAL deadlock_timeout = '30s'`);
    await other.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [second]);
    const lockBoth = `WITH first AS MATERIALIZED (SELECT id FROM users WHERE id = $1 FOR UPDATE),
                           waited AS MATERIALIZED (SELECT pg_sleep(0.3) FROM first)
                      SELECT users.id FROM waited, users WHERE users.id = $2 FOR UPDATE OF users`;
    const lock = (queryable: Queryable) => queryRows(queryable, lockBoth, [first, second]);
    const locked = what === 'a transaction' ? inTransaction(dataSource, lock) : lock(dataSource);
    await eventually(async () => {
      const isFree = 'SELECT FROM users WHERE id = $1 FOR UPDATE SKIP LOCKED';
      return (await queryRows(observer, isFree, [first])).length === 0;
    });
    await other.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [first]);
    await other.commitTransaction();
    await other.release();
    expect(await locked).toEqual([{ id: second }]);
  });

  it('has failed when COMMIT was refused', async () => {
    await observer.query(`
      CREATE TABLE one (n integer CONSTRAINT one_n_key UNIQUE DEFERRABLE INITIALLY DEFERRED);
      INSERT INTO one VALUES (1);
      GRANT INSERT ON one TO PUBLIC`);
    const error = await inTransaction(dataSource, (manager) =>
      manager.query('INSERT INTO one VALUES (1)'),
    ).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(TransactionOutcomeUnknown);
    expect(isDatabaseUnavailable(error)).toBe(false);
    expect(await observer.query('SELECT n FROM one')).toEqual([{ n: 1 }]);
  });
});
