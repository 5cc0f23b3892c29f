import { setTimeout as pause } from 'node:timers/promises';
import { DataSource, MigrationExecutor, QueryFailedError } from 'typeorm';
import { migrations as allMigrations, dataSourceOptions } from './data-source-options';
import { createRoleStatement, grantServiceRole } from './service-role';
import { type Queryable, queryRows } from './sql';

/** The key of the advisory lock under which migrations run. Any constant does. */
const MIGRATION_LOCK = 7_283_001;
const OLDEST_SERVER_VERSION = 150_000;

const POLL_MS = 200;
/** Whoever wants to use a table waits behind a migration that waits for its lock. */
const LOCK_TIMEOUT_SECONDS = 1;
const LOCK_RETRY_MS = 3000;
/** Longer than an export or an audit reads. */
const LOCK_PATIENCE_MS = 10 * 60_000;
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

const PENDING =
  'Migrations are pending, and the role of DATABASE_URL may not run them: set DATABASE_OWNER_URL';

/** Where the database is, for the service and for the owner of its tables. */
export interface DatabaseAddress {
  readonly url: string;
  /** Absent: the service's role owns the tables. */
  readonly ownerUrl?: string | undefined;
}

/**
 * Brings the schema up to date and gives the names of the migrations that it ran. An advisory lock lets any
 * number of processes call it at the same time. With an owner, it also creates the service's role when there
 * is none, and grants it what the service needs.
 */
export async function migrate(
  { url, ownerUrl }: DatabaseAddress,
  migrations: readonly (new () => object)[] = allMigrations,
): Promise<string[]> {
  const dataSource = new DataSource({
    // No statement timeout: an index of a large table takes longer than an ordinary statement may.
    ...dataSourceOptions({
      url: ownerUrl ?? url,
      poolSize: 2,
      statementTimeoutSeconds: 0,
      lockTimeoutSeconds: LOCK_TIMEOUT_SECONDS,
      applicationName: 'proxy-rental migrate',
    }),
    migrations: [...migrations],
  });
  await dataSource.initialize();
  try {
    const [server] = await queryRows<{ version: number; user: string }>(
      dataSource,
      `SELECT current_setting('server_version_num')::int AS version, current_user AS user`,
    );
    if (!server || server.version < OLDEST_SERVER_VERSION) {
      throw new Error('The database server is older than PostgreSQL 15');
    }
    await takeLock(dataSource.createQueryRunner());
    const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
    await runMigrations(dataSource).catch((error: unknown) => {
      if (ownerUrl !== undefined || !hasCode(error, INSUFFICIENT_PRIVILEGE)) throw error;
      throw new Error(PENDING, { cause: error });
    });
    const serviceRole = decodeURIComponent(new URL(url).username);
    if (ownerUrl !== undefined && serviceRole !== server.user) {
      await dataSource.query(createRoleStatement(url));
      await grantServiceRole(dataSource, serviceRole);
    }
    return pending.map((migration) => migration.name);
  } finally {
    // Ends the session that holds the lock.
    await dataSource.destroy();
  }
}

/**
 * Asks for the lock again and again. A session that waits for it in one statement is a transaction that
 * CREATE INDEX CONCURRENTLY, in the session that holds the lock, waits for: neither would ever end.
 */
async function takeLock(holder: Queryable): Promise<void> {
  const take = () =>
    queryRows<{ taken: boolean }>(holder, 'SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK]);
  while ((await take())[0]?.taken !== true) await pause(POLL_MS);
}

/** Runs the pending migrations. One that does not get a lock in time is tried again, from where it began. */
async function runMigrations(dataSource: DataSource): Promise<void> {
  const patientUntilMs = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      await dataSource.runMigrations();
      return;
    } catch (error) {
      if (!hasCode(error, LOCK_NOT_AVAILABLE) || performance.now() > patientUntilMs) throw error;
      await pause(LOCK_RETRY_MS);
    }
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof QueryFailedError && (error.driverError as { code?: string }).code === code;
