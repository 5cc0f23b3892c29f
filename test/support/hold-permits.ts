import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

/** Locks the table, because the first permit inserts its row. */
export async function holdPermits<Result>(
  dataSource: DataSource,
  work: () => Promise<Result>,
): Promise<Result> {
  return dataSource.transaction(async (manager) => {
    await manager.query('LOCK TABLE rate_permits IN EXCLUSIVE MODE');
    return work();
  });
}

/** Places orders in sequence, and lets no call out until all are queued. */
export async function queueTogether<Response>(
  dataSource: DataSource,
  orders: readonly (() => Promise<Response>)[],
): Promise<Response[]> {
  const responses = await holdPermits(dataSource, async () => {
    const requested: Promise<Response>[] = [];
    for (const order of orders) {
      requested.push(order());
      await eventually(async () => {
        const queued = await dataSource.query(`SELECT FROM orders WHERE state = 'reserved'`);
        return queued.length >= requested.length;
      });
    }
    return requested;
  });
  return Promise.all(responses);
}
