import type { QueryRunner } from 'typeorm';
import { queryRows } from './sql';

/**
 * Builds an index while the table is written to, in a migration with `transaction = false`. An invalid index
 * that a failed build left is dropped first, so the migration can be tried again.
 *
 * @param definition what follows the name in CREATE INDEX, e.g. `ON orders (closed_at)`
 */
export async function createIndexConcurrently(
  runner: QueryRunner,
  name: string,
  definition: string,
  { unique = false } = {},
): Promise<void> {
  // It waits for every transaction that is open now. Nobody waits for it meanwhile.
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
