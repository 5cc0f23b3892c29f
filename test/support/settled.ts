import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

export async function countOpenOrders(dataSource: DataSource): Promise<number> {
  const [row] = await dataSource.query<[{ count: number }]>(
    `SELECT count(*) AS count FROM orders WHERE state IN ('reserved', 'submitting', 'confirming')`,
  );
  return row.count;
}

export async function untilSettled(dataSource: DataSource): Promise<void> {
  await eventually(async () => (await countOpenOrders(dataSource)) === 0);
}
