import type { Client } from 'pg';
import { type DataSourceOptions, DefaultNamingStrategy, type Table } from 'typeorm';
import { identifySession } from './commit-outcome';
import { Baseline1768000000000 } from './migrations/1768000000000-baseline';
import { ServiceClient } from './service-client';

export const migrations: readonly (new () => object)[] = [Baseline1768000000000];

const DEFAULT_POOL_WAIT_MS = 5000;
const DEFAULT_STATEMENT_TIMEOUT_SECONDS = 30;
const DEFAULT_LOCK_TIMEOUT_SECONDS = 10;
/** How much longer than its statement a response may take: the commit waits for the standby. */
const RESPONSE_GRACE_SECONDS = 5;
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * Settings of sessions, as the server shows them; of some, how that begins. The server enforces the limits:
 * pg's own `query_timeout` returns a connection to the pool while its transaction is still open, and the next
 * user of the connection would commit the failed one's changes.
 */
const SETTINGS = {
  idle_in_transaction_session_timeout: '30s',
  synchronous_commit: 'on',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
};

/** TypeORM creates the table of the migrations itself: its key gets PostgreSQL's default name. */
class NamingStrategy extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${typeof table === 'string' ? table : table.name}_pkey`;
  }
}

/** Options of the service's data source. `parseInt8` makes ids numbers, which are exact up to 2^53. */
export function dataSourceOptions(database: {
  url: string;
  poolSize: number;
  /** The longest wait for a free connection. */
  poolWaitMs?: number | undefined;
  /** 0 for no limit. */
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
      // Of options that are given twice, the last one applies.
      options: [...options, ...Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)].join(
        ' ',
      ),
    },
  };
}

/** Takes the parameter `options` out of a URL: pg prefers it to the options of the configuration. */
function takeOptions(databaseUrl: string): { readonly url: string; readonly options: readonly string[] } {
  const url = new URL(databaseUrl);
  const options = url.searchParams.getAll('options');
  url.searchParams.delete('options');
  return { url: options.length > 0 ? url.href : databaseUrl, options };
}
