import type { QueryRunner } from 'typeorm';
import { type Checksums, checksumsOf, type Release } from './release';
import type { SchemaState } from './schema-version';
import { hasSqlState, queryRows } from './sql';

/** SQLSTATE of a CREATE OR REPLACE FUNCTION that would change the result type. */
const INVALID_FUNCTION_DEFINITION = '42P13';

/** Installs changed functions and drops removed ones. Must run in a transaction, after the migrations. */
export async function installFunctions(
  runner: QueryRunner,
  release: Release,
  installed: SchemaState,
): Promise<void> {
  const checksums = checksumsOf(release);
  const changed = changedNames(checksums, installed.checksums);
  if (changed.length === 0 && release.number === installed.release) return;
  const before = new Set((await findObjects(runner, changed)).map(({ version }) => version));
  // Do not check function bodies, because they may call functions that are installed later.
  await runner.query('SET LOCAL check_function_bodies = off');
  const hasTrigger = (name: string): boolean => /EXECUTE FUNCTION/.test(release.functions[name] ?? '');
  for (const name of [...changed].sort((a, b) => Number(hasTrigger(a)) - Number(hasTrigger(b)))) {
    const text = release.functions[name];
    if (text !== undefined) await install(runner, name, text);
  }
  for (const { version, drop } of await findObjects(runner, changed)) {
    if (before.has(version)) await runner.query(drop);
  }
  await runner.query('UPDATE installed_functions SET release = $1, checksums = $2', [
    release.number,
    checksums,
  ]);
}

export const changedNames = (checksums: Checksums, installed: Checksums): string[] =>
  Object.keys({ ...installed, ...checksums }).filter((name) => checksums[name] !== installed[name]);

async function install(runner: QueryRunner, name: string, text: string): Promise<void> {
  await runner.query('SAVEPOINT before_function');
  try {
    await runner.query(text);
  } catch (error) {
    if (!hasSqlState(error, INVALID_FUNCTION_DEFINITION)) throw error;
    await runner.query('ROLLBACK TO SAVEPOINT before_function');
    for (const { drop } of await findObjects(runner, [name])) await runner.query(drop);
    await runner.query(text);
  }
}

interface Installed {
  /** Changes with each CREATE OR REPLACE. */
  readonly version: string;
  readonly drop: string;
}

/** Lists triggers first, because a function cannot be dropped before the triggers that execute it. */
const findObjects = (runner: QueryRunner, names: readonly string[]): Promise<Installed[]> =>
  queryRows(
    runner,
    `WITH named AS (
       SELECT oid, xmin FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname = ANY ($1))
     SELECT concat_ws(' ', 'trigger', pg_trigger.oid, pg_trigger.xmin) AS version,
            format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS drop, 1 AS step
       FROM pg_trigger JOIN named ON tgfoid = named.oid
     UNION ALL
     SELECT concat_ws(' ', 'function', oid, xmin), 'DROP FUNCTION ' || oid::regprocedure, 2 FROM named
     ORDER BY step`,
    [names],
  );
