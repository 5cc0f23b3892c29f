import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

/** Keeps every call back until the work is done. The first permit inserts the row, so the table is locked. */
export async function holdPermits<Result>(
  dataSource: DataSource,
  work: () => Promise<Result>,
): Promise<Result> {
  return dataSource.transaction(async (manager) => {
    await manager.query('LOCK TABLE rate_permits IN EXCLUSIVE MODE');
    return work();
  });
}

/** Requests orders one after the other, and lets no call out until all of them are in the queue. */
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
