import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options';
import { queryRows } from './sql';

/** The key of the advisory lock under which migrations run. Any constant does. */
const MIGRATION_LOCK = 7_283_001;
const OLDEST_SERVER_VERSION = 150_000;

/**
 * Brings the schema up to date and gives the names of the migrations that it ran. An advisory lock lets any
 * number of processes call it at the same time.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const dataSource = new DataSource(
    // No statement timeout: an index of a large table takes longer than an ordinary statement may.
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
    // No lock timeout: the migrations of another process take longer than an ordinary lock is held.
    await holder.query('SET lock_timeout = 0');
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const done = await dataSource.runMigrations();
    return done.map((migration) => migration.name);
  } finally {
    // Ends the session that holds the lock.
    await dataSource.destroy();
  }
}
