import { SERVICE_VERSION } from '../common';
import { migrations } from './data-source-options';
import { type Checksums, RELEASE_NUMBER } from './release';
import { type Queryable, queryRow } from './sql';

export interface SchemaState {
  readonly applied: readonly string[];
  /** Number of the release whose functions are installed. */
  readonly release: number;
  readonly checksums: Checksums;
}

export const SCHEMA_STATE = `
  ARRAY(SELECT name::text FROM migrations ORDER BY id) AS applied, release, checksums
    FROM installed_functions`;

export const EMPTY_STATE: SchemaState = { applied: [], release: 0, checksums: {} };

export interface SchemaDifference {
  /** Pending migrations and functions, without which this version cannot use the schema. */
  readonly missing: readonly string[];
  /** Applied migrations of a later version. */
  readonly unknown: readonly string[];
}

export const MISSING_FUNCTIONS = `functions of ${SERVICE_VERSION}`;

export function differenceOf({ applied, release }: SchemaState): SchemaDifference {
  const known = migrations.map(({ name }) => name);
  return {
    missing: [
      ...known.filter((name) => !applied.includes(name)),
      ...(release < RELEASE_NUMBER ? [MISSING_FUNCTIONS] : []),
    ],
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

/** @throws Error if the database was created by a version before 1.0.0 */
export async function readSchemaState(queryable: Queryable): Promise<SchemaState> {
  try {
    return await queryRow<SchemaState>(queryable, `SELECT ${SCHEMA_STATE}`);
  } catch (error) {
    if (!isBeforeFirstMigration(error)) throw error;
    const { isOlder } = await queryRow<{ isOlder: boolean }>(queryable, IS_OLDER);
    if (isOlder) throw new Error(OLDER, { cause: error });
    return EMPTY_STATE;
  }
}

export const readSchemaDifference = async (queryable: Queryable): Promise<SchemaDifference> =>
  differenceOf(await readSchemaState(queryable));

const IS_OLDER = `
  SELECT to_regclass('ledger_entries') IS NOT NULL
           AND to_regclass('installed_functions') IS NULL AS "isOlder"`;
const OLDER =
  'The database is of a version before 1.0.0, which cannot be upgraded: use an empty one (of the embedded ' +
  'database, remove the directory .data).';

const UNDEFINED_TABLE = '42P01';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether the first migration has not yet created a table, or granted access to it. */
export function isBeforeFirstMigration(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === UNDEFINED_TABLE || code === INSUFFICIENT_PRIVILEGE;
}
