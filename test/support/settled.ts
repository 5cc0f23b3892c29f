import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

/** How many orders are neither closed nor left to staff. */
export async function countOpenOrders(dataSource: DataSource): Promise<number> {
  const [row] = await dataSource.query<[{ count: number }]>(
    `SELECT count(*) AS count FROM orders WHERE state IN ('reserved', 'submitting', 'confirming')`,
  );
  return row.count;
}

/** Waits until reconciliation has closed every order. */
export async function untilSettled(dataSource: DataSource): Promise<void> {
  await eventually(async () => (await countOpenOrders(dataSource)) === 0);
}
