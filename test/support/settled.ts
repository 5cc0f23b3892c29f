import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

/** Waits until reconciliation has closed every order. */
export async function untilSettled(dataSource: DataSource): Promise<void> {
  await eventually(async () => {
    const open = await dataSource.query<unknown[]>(
      `SELECT id FROM orders WHERE state IN ('reserved', 'submitting', 'confirming') LIMIT 1`,
    );
    return open.length === 0;
  });
}
