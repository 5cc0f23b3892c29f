import type { Client } from 'pg';
import { type DataSourceOptions, DefaultNamingStrategy, type Table } from 'typeorm';
import { identifySession } from './commit-outcome';
import { Baseline1768000000000 } from './migrations/1768000000000-baseline';
import { ServiceClient } from './service-client';

export const migrations: readonly (new () => object)[] = [Baseline1768000000000];

const DEFAULT_POOL_WAIT_MS = 5000;
const DEFAULT_STATEMENT_TIMEOUT_SECONDS = 30;
const DEFAULT_LOCK_TIMEOUT_SECONDS = 10;
/** Added to the statement timeout, because a commit also waits for the standby. */
const RESPONSE_GRACE_SECONDS = 5;
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * prepareSession() checks that each value is a prefix of what SHOW displays.
 * The server enforces the time limits, because pg's `query_timeout` would return a connection to the pool
 * while its transaction is still open.
 */
const SETTINGS = {
  idle_in_transaction_session_timeout: '30s',
  synchronous_commit: 'on',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
};

/** Names the primary key of TypeORM's migrations table as PostgreSQL would. */
class NamingStrategy extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${typeof table === 'string' ? table : table.name}_pkey`;
  }
}

export function dataSourceOptions(database: {
  url: string;
  poolSize: number;
  poolWaitMs?: number | undefined;
  /** 0 means no limit. */
  statementTimeoutSeconds?: number;
  lockTimeoutSeconds?: number;
  applicationName: string;
}): DataSourceOptions & { type: 'postgres' } {
  const {
    statementTimeoutSeconds = DEFAULT_STATEMENT_TIMEOUT_SECONDS,
    lockTimeoutSeconds = DEFAULT_LOCK_TIMEOUT_SECONDS,
  } = database;
  const settings = {
    ...SETTINGS,
    statement_timeout: statementTimeoutSeconds === 0 ? '0' : `${statementTimeoutSeconds}s`,
    lock_timeout: `${lockTimeoutSeconds}s`,
  };
  const { url, options } = takeOptions(database.url);
  return {
    type: 'postgres',
    url,
    applicationName: database.applicationName,
    poolSize: database.poolSize,
    parseInt8: true,
    migrations: [...migrations],
    migrationsTransactionMode: 'each',
    namingStrategy: new NamingStrategy(),
    extra: {
      connectionTimeoutMillis: database.poolWaitMs ?? DEFAULT_POOL_WAIT_MS,
      Client: ServiceClient,
      responseTimeoutMs:
        statementTimeoutSeconds === 0 ? 0 : 1000 * (statementTimeoutSeconds + RESPONSE_GRACE_SECONDS),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      onConnect: (client: Client) => identifySession(client, settings),
      // The settings come last, because the last value of an option applies.
      options: [...options, ...Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)].join(
        ' ',
      ),
    },
  };
}

/** Removes the `options` parameter from a URL, because pg would use it instead of the configured options. */
function takeOptions(databaseUrl: string): { readonly url: string; readonly options: readonly string[] } {
  const url = new URL(databaseUrl);
  const options = url.searchParams.getAll('options');
  url.searchParams.delete('options');
  return { url: options.length > 0 ? url.href : databaseUrl, options };
}
