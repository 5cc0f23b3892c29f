import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';
import { installFunctions } from './install-functions';
import { Baseline1767000000000 } from './migrations/1767000000000-baseline';
import { assertCanBeBroughtOver } from './schema-version';
import { type Queryable, queryRow } from './sql';

/**
 * Converts a database of the last version before the baseline to the baseline's schema, in one transaction.
 * Nothing else may use it meanwhile: the earlier version has other tables.
 *
 * @param runner connected as the owner of the tables
 * @param applied the names of the applied migrations, in their order
 * @throws Error if the database is in use, or of an earlier version
 */
export async function bringOver(runner: QueryRunner, applied: readonly string[]): Promise<void> {
  assertCanBeBroughtOver(applied);
  const baseline = runner.dataSource.migrations.find((one) => one instanceof Baseline1767000000000);
  await runner.startTransaction();
  try {
    await refuseOthers(runner);
    await runner.query(readFileSync(join(__dirname, 'migrations', 'baseline', 'bring-over.sql'), 'utf8'));
    if (baseline) await installFunctions(runner, baseline);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}

/** Other migrating processes wait, and find the database brought over. */
async function refuseOthers(queryable: Queryable): Promise<void> {
  const others = await queryRow<{ count: number }>(
    queryable,
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'proxy-rental%'
        AND application_name <> 'proxy-rental migrate'`,
  );
  if (others.count === 0) return;
  throw new Error('The database is in use: stop all replicas and commands of the earlier version first.');
}
