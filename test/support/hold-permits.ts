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

/** Places orders in sequence, and lets no call out until each is queued or refused. */
export async function placeTogether<Response>(
  dataSource: DataSource,
  orders: readonly (() => Promise<Response>)[],
): Promise<Promise<Response>[]> {
  const countQueued = async () => {
    const queued = await dataSource.query(`SELECT FROM orders WHERE state = 'reserved'`);
    return queued.length as number;
  };
  return holdPermits(dataSource, async () => {
    const requested: Promise<Response>[] = [];
    for (const order of orders) {
      const before = await countQueued();
      let isRefused = false;
      const end = () => void (isRefused = true);
      const response = order();
      response.then(end, end);
      requested.push(response);
      await eventually(async () => isRefused || (await countQueued()) > before);
    }
    return requested;
  });
}

/** Like {@link placeTogether}, and waits for the responses. */
export const queueTogether = async <Response>(
  dataSource: DataSource,
  orders: readonly (() => Promise<Response>)[],
): Promise<Response[]> => Promise.all(await placeTogether(dataSource, orders));
