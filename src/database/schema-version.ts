import { migrations } from './data-source-options';
import { Baseline1767000000000 } from './migrations/1767000000000-baseline';
import { type Queryable, queryRows } from './sql';

/** The differences of a database's schema from the one of this version. */
export interface SchemaDifference {
  /** Pending migrations: the schema is older than this version needs. */
  readonly missing: readonly string[];
  /** Migrations of a later version, which runs concurrently or ran before. */
  readonly unknown: readonly string[];
}

/** @param applied the names of the applied migrations, from the table `migrations` */
export function differenceOf(applied: readonly string[]): SchemaDifference {
  const known = migrations.map(({ name }) => name);
  return {
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

export const readSchemaDifference = async (queryable: Queryable): Promise<SchemaDifference> =>
  differenceOf(await readApplied(queryable));

/** The names of the applied migrations, in their order; none in an empty database. */
export async function readApplied(queryable: Queryable): Promise<string[]> {
  try {
    const rows = await queryRows<{ name: string }>(queryable, 'SELECT name FROM migrations ORDER BY id');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (isBeforeFirstMigration(error)) return [];
    throw error;
  }
}

/** The last commit before the baseline. `operations/bring-over.mjs` brings its databases over. */
export const LAST_COMMIT_BEFORE = '3cf2c9108489827aa4db83d841d8e1ef4125747a';
const LAST_MIGRATION_BEFORE = 'RentalsOfAUser1766140000000';

/** Whether the applied migrations are those of versions before the baseline. */
export function isBeforeBaseline(applied: readonly string[]): boolean {
  return applied.length > 0 && !applied.includes(Baseline1767000000000.name);
}

/** @throws Error, with instructions, if the database is of a version before {@link LAST_COMMIT_BEFORE} */
export function assertCanBeBroughtOver(applied: readonly string[]): void {
  if (applied.at(-1) === LAST_MIGRATION_BEFORE) return;
  throw new Error(
    `The database is of a version before commit ${LAST_COMMIT_BEFORE}: start that one on it first ` +
      '(docs/operations.md, "From before the baseline").',
  );
}

/** @throws Error, with instructions, if the migrations are those of versions before the baseline */
export function refuseBeforeBaseline(applied: readonly string[]): void {
  if (!isBeforeBaseline(applied)) return;
  assertCanBeBroughtOver(applied);
  throw new Error(
    `The database is of commit ${LAST_COMMIT_BEFORE}, and has to be brought over once, while nothing uses ` +
      'it: node operations/bring-over.mjs (docs/operations.md, "From before the baseline").',
  );
}

const UNDEFINED_TABLE = '42P01';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether the table `migrations` could not be read because the first migration has not granted it yet. */
export function isBeforeFirstMigration(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === UNDEFINED_TABLE || code === INSUFFICIENT_PRIVILEGE;
}
