import type { DataSource } from 'typeorm';

/** Keeps every call back until the work is done: rate permits are given under this lock. */
export async function holdPermits<Result>(
  dataSource: DataSource,
  work: () => Promise<Result>,
): Promise<Result> {
  return dataSource.transaction(async (manager) => {
    await manager.query('SELECT FROM rate_permits FOR UPDATE');
    return work();
  });
}
