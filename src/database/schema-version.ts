import { SERVICE_VERSION } from '../common';
import { migrations } from './data-source-options';
import { type Checksums, RELEASE_NUMBER } from './release';
import { type Queryable, queryRow, sqlList } from './sql';

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

const KNOWN = migrations.map(({ name }) => name);

/** SQL for an array of applied migrations that this version does not know, because they are newer. */
export const UNKNOWN_MIGRATIONS = `
  ARRAY(SELECT name::text FROM migrations WHERE name NOT IN ${sqlList(KNOWN)} ORDER BY id)`;

export const MISSING_FUNCTIONS = `functions of ${SERVICE_VERSION}`;

/** Returns the pending migrations and functions. If there are any, this version cannot use the schema. */
export const missingFrom = ({ applied, release }: SchemaState): readonly string[] => [
  ...KNOWN.filter((name) => !applied.includes(name)),
  ...(release < RELEASE_NUMBER ? [MISSING_FUNCTIONS] : []),
];

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

const IS_OLDER = `
  SELECT to_regclass('ledger_entries') IS NOT NULL
           AND to_regclass('installed_functions') IS NULL AS "isOlder"`;
const OLDER =
  'The database was created by a version before 1.0.0 and cannot be upgraded: use an empty one (for ' +
  'the embedded database, remove the directory .data).';

const UNDEFINED_TABLE = '42P01';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether a query failed because the first migration has not yet created a table or granted access to it. */
export function isBeforeFirstMigration(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === UNDEFINED_TABLE || code === INSUFFICIENT_PRIVILEGE;
}
