import { migrations } from './data-source-options';
import { type Queryable, queryRows } from './sql';

/** How the schema of a database differs from the one that this version of the service knows. */
export interface SchemaDifference {
  /** Migrations that were not run: the schema is older than this version needs. */
  readonly missing: readonly string[];
  /** Migrations of a later version, which runs beside this one or ran before it. */
  readonly unknown: readonly string[];
}

/** @param applied the names of the migrations that were run, from the table `migrations` */
export function differenceOf(applied: readonly string[]): SchemaDifference {
  const known = migrations.map(({ name }) => name);
  return {
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

export async function readSchemaDifference(queryable: Queryable): Promise<SchemaDifference> {
  const applied = await queryRows<{ name: string }>(queryable, 'SELECT name FROM migrations ORDER BY id');
  return differenceOf(applied.map(({ name }) => name));
}

const UNDEFINED_TABLE = '42P01';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether the table `migrations` could not be read because the first migration has not granted it yet. */
export function isBeforeFirstMigration(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === UNDEFINED_TABLE || code === INSUFFICIENT_PRIVILEGE;
}
