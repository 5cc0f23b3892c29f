import { forAllTests } from '../../test/support/fixtures';
import { connectTo, createTestDatabase } from '../../test/support/test-database';
import { preparedRows } from './prepared';
import { ServiceClient } from './service-client';
import { isDatabaseUnavailable, mayHaveCommitted, queryRows } from './sql';

describe('A connection of the service', () => {
  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectTo(database.url, 1));

  const session = async (): Promise<number | undefined> =>
    (await queryRows<{ pid: number }>(dataSource, 'SELECT pg_backend_pid() AS pid'))[0]?.pid;

  it.each([
    ['prepared', preparedRows],
    ['other', queryRows],
  ])('is thrown away when the server takes no writes any more: %s statements', async (_, run) => {
    const before = await session();
    await dataSource.query('SET default_transaction_read_only = on');
    const failure: unknown = await run(dataSource, `UPDATE users SET username = 'x'`).catch(
      (error: unknown) => error,
    );
    expect([isDatabaseUnavailable(failure), mayHaveCommitted(failure)]).toEqual([true, false]);
    expect(await session()).not.toBe(before);
    await run(dataSource, `UPDATE users SET username = 'x'`);
  });

  it('runs prepared statements whose columns have changed their type, on every connection', async () => {
    const [owner, pool] = await Promise.all([connectTo(database.ownerUrl, 1), connectTo(database.url)]);
    try {
      await owner.query('CREATE TABLE things AS SELECT 1 AS n; GRANT SELECT, UPDATE ON things TO PUBLIC');
      const read = () => preparedRows(pool, 'SELECT n FROM things, pg_sleep(0.05)');
      const add = () => preparedRows(pool, 'UPDATE things SET n = n + 1 RETURNING n');
      expect(await Promise.all([read(), read()])).toEqual([[{ n: 1 }], [{ n: 1 }]]);
      await Promise.all([add(), add()]);
      await owner.query('ALTER TABLE things ALTER COLUMN n TYPE numeric');
      expect(await Promise.all([read(), read()])).toEqual([[{ n: '3' }], [{ n: '3' }]]);
      await Promise.all([add(), add()]);
      expect(await read()).toEqual([{ n: '5' }]);
    } finally {
      await Promise.all([owner.destroy(), pool.destroy()]);
    }
  });

  it('ends when no response comes', async () => {
    const client = new ServiceClient({ connectionString: database.url, responseTimeoutMs: 100 });
    await client.connect();
    await expect(client.query('SELECT pg_sleep(60)')).rejects.toThrow('Connection terminated');
  });
});
