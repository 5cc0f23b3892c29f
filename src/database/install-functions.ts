import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that installs functions and their triggers from `src/database/functions/`. */
export interface InstallsFunctions extends MigrationInterface {
  /** Names of files, without `.sql`, in the order of installation. */
  readonly functions: readonly string[];
  /** Functions that it drops. Their files are gone, so earlier migrations no longer install them. */
  readonly removedFunctions?: readonly string[];
}

/**
 * Installs and drops the functions that a migration lists, in its transaction. A function is installed by
 * the last migration that lists it: there is one version of its text, which may need all migrations up to it.
 */
export async function installFunctions(runner: QueryRunner, migration: InstallsFunctions): Promise<void> {
  const all = runner.dataSource.migrations as (MigrationInterface & Partial<InstallsFunctions>)[];
  const later = new Set(
    all
      .slice(all.indexOf(migration) + 1)
      .flatMap(({ functions = [], removedFunctions = [] }) => [...functions, ...removedFunctions]),
  );
  // A function may call one that a later migration installs.
  await runner.query('SET LOCAL check_function_bodies = off');
  for (const name of migration.functions.filter((one) => !later.has(one))) {
    await runner.query(readFileSync(join(__dirname, 'functions', `${name}.sql`), 'utf8'));
  }
  for (const name of migration.removedFunctions ?? []) await runner.query(`DROP FUNCTION IF EXISTS ${name}`);
}
