import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from './data-source-options';
import { changedNames, installFunctions } from './install-functions';
import { checksumsOf, type Release, thisRelease } from './release';
import { MISSING_FUNCTIONS, missingFrom, readSchemaState, type SchemaState } from './schema-version';
import { createRoleStatement, grantServiceRole } from './service-role';
import { hasSqlState, type Queryable, queryRow, queryRows } from './sql';

const MIGRATION_LOCK = 7_283_001;
const OLDEST_SERVER_VERSION = 150_000;

const POLL_MS = 200;
const WAIT_MS = 500;
/** Short, because other statements on the table queue behind a waiting migration. */
const LOCK_TIMEOUT_SECONDS = 1;
const LOCK_RETRY_MS = 3000;
/** Longer than an export or an audit takes to read a table. */
const LOCK_PATIENCE_MS = 10 * 60_000;
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

const PENDING =
  'Migrations are pending, and the role of DATABASE_URL is not allowed to run them: set ' +
  'DATABASE_OWNER_URL';

export interface DatabaseAddress {
  readonly url: string;
  /** Database URL for the role that owns the tables; undefined if the service's role owns them. */
  readonly ownerUrl?: string | undefined;
}

/**
 * Migrates the schema and returns the names of the executed migrations. Concurrent calls wait for each other.
 * @throws Error if the database was created by a version before 1.0.0
 */
export async function migrate(
  { url, ownerUrl }: DatabaseAddress,
  release: Release = thisRelease(),
): Promise<string[]> {
  const dataSource = new DataSource({
    // No statement timeout, because building an index on a large table may exceed it.
    ...dataSourceOptions({
      url: ownerUrl ?? url,
      poolSize: 2,
      statementTimeoutSeconds: 0,
      lockTimeoutSeconds: LOCK_TIMEOUT_SECONDS,
      applicationName: 'proxy-rental migrate',
    }),
    migrations: [...release.migrations],
  });
  await dataSource.initialize();
  try {
    const server = await queryRow<{ version: number; user: string }>(
      dataSource,
      `SELECT current_setting('server_version_num')::int AS version, current_user AS user`,
    );
    if (server.version < OLDEST_SERVER_VERSION) {
      throw new Error('The database server is older than PostgreSQL 15');
    }
    const runner = dataSource.createQueryRunner();
    await takeLock(runner);
    await readSchemaState(runner);
    const serviceRole = decodeURIComponent(new URL(url).username);
    const hasOwner = ownerUrl !== undefined && serviceRole !== server.user;
    const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
    if (hasOwner) await dataSource.query(createRoleStatement(url));
    await runPatiently(runner, async () => {
      await runMigrations(dataSource, runner);
      await finish(runner, release, hasOwner ? serviceRole : undefined);
    }).catch((error: unknown) => {
      if (ownerUrl !== undefined || !hasSqlState(error, INSUFFICIENT_PRIVILEGE)) throw error;
      throw new Error(PENDING, { cause: error });
    });
    return pending.map((migration) => migration.name);
  } finally {
    // Closing the connection releases the advisory lock.
    await dataSource.destroy();
  }
}

async function finish(runner: QueryRunner, release: Release, serviceRole: string | undefined): Promise<void> {
  const state = await readSchemaState(runner);
  if (isLater(state, release)) return;
  await runner.startTransaction();
  try {
    await installFunctions(runner, release, state);
    if (serviceRole !== undefined) await grantServiceRole(runner, serviceRole);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}

const isLater = ({ applied, release: installed }: SchemaState, { number, migrations }: Release): boolean =>
  installed > number || applied.some((name) => migrations.every((migration) => migration.name !== name));

/** Waits until another process has installed this version's schema. Returns false if aborted first. */
export async function untilMigrated(
  { url }: Pick<DatabaseAddress, 'url'>,
  onWait: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  for (let rounds = 0; !signal.aborted; rounds += 1) {
    const missing = await findMissing(url);
    if (missing?.length === 0) return true;
    if (missing && rounds === 0) {
      onWait(`Waiting for \`cli migrate\` to install ${missing.join(', ')}`);
    }
    await pause(WAIT_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

/** Returns the missing parts of the schema; undefined while another process is migrating. */
async function findMissing(url: string): Promise<readonly string[] | undefined> {
  const client = new Client({ connectionString: url, application_name: 'proxy-rental-service start' });
  await client.connect();
  try {
    const { rows: locks } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock_shared($1) AS taken',
      [MIGRATION_LOCK],
    );
    if (!locks[0]?.taken) return undefined;
    const state = await readSchemaState({
      query: async <Rows>(statement: string) => (await client.query(statement)).rows as Rows,
    });
    const missing = missingFrom(state);
    const release = thisRelease();
    const isOther = changedNames(checksumsOf(release), state.checksums).length > 0;
    return missing.length === 0 && isOther && !isLater(state, release) ? [MISSING_FUNCTIONS] : missing;
  } finally {
    await client.end();
  }
}

/** Polls, because waiting for the lock would deadlock with the holder's CREATE INDEX CONCURRENTLY. */
async function takeLock(holder: Queryable): Promise<void> {
  const take = () =>
    queryRows<{ taken: boolean }>(holder, 'SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK]);
  while ((await take())[0]?.taken !== true) await pause(POLL_MS);
}

/** Runs migrations in the session that holds the lock, so that they stop if a failover releases the lock. */
async function runMigrations(dataSource: DataSource, holder: QueryRunner): Promise<void> {
  const executor = new MigrationExecutor(dataSource, holder);
  executor.transaction = 'each';
  await executor.executePendingMigrations();
}

async function runPatiently(holder: Queryable, work: () => Promise<void>): Promise<void> {
  const patientUntilMs = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!hasSqlState(error, LOCK_NOT_AVAILABLE) || performance.now() > patientUntilMs) throw error;
      await pause(LOCK_RETRY_MS);
      // An interrupted index build may have left lock_timeout changed.
      await holder.query('RESET lock_timeout');
    }
  }
}
