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
    // It is certain that nothing was written.
    expect([isDatabaseUnavailable(failure), mayHaveCommitted(failure)]).toEqual([true, false]);
    expect(await session()).not.toBe(before);
    await run(dataSource, `UPDATE users SET username = 'x'`);
  });

  it('ends when no response comes', async () => {
    const client = new ServiceClient({ connectionString: database.url, responseTimeoutMs: 100 });
    await client.connect();
    await expect(client.query('SELECT pg_sleep(60)')).rejects.toThrow('Connection terminated');
  });
});
