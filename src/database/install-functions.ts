import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that installs functions, with their triggers, as `src/database/functions/` has them. */
export interface InstallsFunctions extends MigrationInterface {
  /** Names of files, without `.sql`, in the order in which they are installed. */
  readonly functions: readonly string[];
}

/**
 * Installs the functions that a migration names, in its transaction. Each is installed by the last migration
 * that names it: there is one text of it, which may need what the migrations up to that one have made.
 */
export async function installFunctions(runner: QueryRunner, migration: InstallsFunctions): Promise<void> {
  const all = runner.dataSource.migrations as (MigrationInterface & Partial<InstallsFunctions>)[];
  const later = new Set(all.slice(all.indexOf(migration) + 1).flatMap(({ functions = [] }) => functions));
  // A function may call one that a later migration installs.
  await runner.query('SET LOCAL check_function_bodies = off');
  for (const name of migration.functions.filter((one) => !later.has(one))) {
    await runner.query(readFileSync(join(__dirname, 'functions', `${name}.sql`), 'utf8'));
  }
}
