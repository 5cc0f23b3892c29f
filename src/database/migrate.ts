import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options';
import { queryRows } from './sql';

/** Any constant does: it is the key of the one lock under which migrations run. */
const MIGRATION_LOCK = 7_283_001;
const OLDEST_SERVER_VERSION = 150_000;

/**
 * Brings the schema up to date and returns the names of the migrations that it ran.
 * Runs under an advisory lock, so that any number of processes may call it at the same moment.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const dataSource = new DataSource(
    // An index of a large table takes longer than an ordinary statement is allowed.
    dataSourceOptions({
      url: databaseUrl,
      poolSize: 2,
      statementTimeoutSeconds: 0,
      applicationName: 'proxy-rental migrate',
    }),
  );
  await dataSource.initialize();
  try {
    const [server] = await queryRows<{ version: number }>(
      dataSource,
      `SELECT current_setting('server_version_num')::int AS version`,
    );
    if (!server || server.version < OLDEST_SERVER_VERSION) {
      throw new Error('The database server is older than PostgreSQL 15');
    }
    const holder = dataSource.createQueryRunner();
    // Waiting for another process's migrations may take longer than for an ordinary lock.
    await holder.query('SET lock_timeout = 0');
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await dataSource.runMigrations();
    return done.map((migration) => migration.name);
  } finally {
    // Ends the session of the lock, and with it the lock.
    await dataSource.destroy();
  }
}
