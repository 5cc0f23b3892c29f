import type { QueryRunner } from 'typeorm';
import { queryRows } from './sql';

/**
 * Builds an index without blocking writes. Must be called in a migration with `transaction = false`.
 * @param definition the rest of CREATE INDEX after the index name, such as `ON orders (closed_at)`
 */
export async function createIndexConcurrently(
  runner: QueryRunner,
  name: string,
  definition: string,
  { unique = false } = {},
): Promise<void> {
  // Disable the lock timeout: the build waits for every open transaction, but blocks no other statement.
  await runner.query('SET lock_timeout = 0');
  const [existing] = await queryRows<{ valid: boolean }>(
    runner,
    'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [name],
  );
  if (existing?.valid === false) await runner.query(`DROP INDEX CONCURRENTLY ${name}`);
  await runner.query(
    `CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY IF NOT EXISTS ${name} ${definition}`,
  );
  await runner.query('RESET lock_timeout');
}
