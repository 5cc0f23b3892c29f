import type { Pool } from 'pg';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { MAX_GROWTH_BYTES, openConnections, startDownload, usedBytes } from '../support/long-responses';
import { startTestService } from '../support/test-service';

/** About 12 MB of text: more than the buffers of the sockets take. */
const ENTRY_COUNT = 120_000;

jest.setTimeout(120_000);

describe(`A file of ${ENTRY_COUNT} ledger entries`, () => {
  let pool: Pool;

  const service = forAllTests(() => startTestService({ environment: { DB_POOL_SIZE: '2' } }));
  const user = forAllTests(() => service.createUser({ balance: '0.00' }));
  beforeAll(async () => {
    await service.dataSource.query(
      `INSERT INTO ledger_entries
         (user_id, seq, kind, available_delta, held_delta, available_after, held_after)
       SELECT $1, n, 'topup', 1, 0, n, 0 FROM generate_series(1, ${ENTRY_COUNT}) AS n`,
      [user.id],
    );
    await service.owner.query('ANALYZE ledger_entries');
    pool = (service.dataSource.driver as unknown as { readonly master: Pool }).master;
  });

  const download = () => startDownload(service, user, 'ledger', 'text/csv');

  it('is complete and uses no more than 10 MiB of memory', async () => {
    const before = usedBytes();
    let maxGrowth = 0;
    let nextCheckAt = 0;
    let rest = '';
    let count = 0;
    for await (const piece of (await download()).setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + piece).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (count > 0 && !line.startsWith(`${count},`)) throw new Error(`unexpected: ${line}`);
        count += 1;
      }
      if (count < nextCheckAt) continue;
      nextCheckAt = count + ENTRY_COUNT / 10;
      maxGrowth = Math.max(maxGrowth, usedBytes() - before);
    }
    expect([count, rest]).toEqual([1 + ENTRY_COUNT, '']);
    expect(maxGrowth).toBeLessThan(MAX_GROWTH_BYTES);
  });

  it('holds no connection to the database for readers who have stopped, nor for those who left', async () => {
    const readers = await Promise.all(Array.from({ length: 6 }, download));
    await eventually(async () => pool.idleCount === pool.totalCount);
    expect(readers.map(({ complete }) => complete)).toEqual(readers.map(() => false));
    expect((await user.api.GET('/me')).response.status).toBe(200);
    for (const response of readers) response.destroy();
    // The one that stays is that of the client.
    await eventually(async () => (await openConnections(service)) <= 1);
    const queries = jest.spyOn(service.dataSource, 'query');
    for (let n = 0; n < 5; n += 1) expect((await user.api.GET('/me')).response.status).toBe(200);
    expect(queries.mock.calls.filter(([text]) => text.includes('FROM ledger_entries'))).toEqual([]);
    queries.mockRestore();
  });
});
