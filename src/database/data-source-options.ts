import { type DataSourceOptions, DefaultNamingStrategy, type Table } from 'typeorm';
import { identifySession } from './lost-responses';
import { Baseline1767000000000 } from './migrations/1767000000000-baseline';
import { OrdersOfRenewals1767400000000 } from './migrations/1767400000000-orders-of-renewals';
import { LateProlongations1767500000000 } from './migrations/1767500000000-late-prolongations';
import { ForgottenKeys1767600000000 } from './migrations/1767600000000-forgotten-keys';
import { WrittenOffRequests1767610000000 } from './migrations/1767610000000-written-off-requests';
import { Deposits1767700000000 } from './migrations/1767700000000-deposits';
import { DepositEntries1767710000000 } from './migrations/1767710000000-deposit-entries';
import { DepositConstraints1767720000000 } from './migrations/1767720000000-deposit-constraints';
import { PaymentIndexes1767730000000 } from './migrations/1767730000000-payment-indexes';
import { RefundsBeyondDeposits1767800000000 } from './migrations/1767800000000-refunds-beyond-deposits';
import { FoundCounts1767810000000 } from './migrations/1767810000000-found-counts';
import { PublicState1767820000000 } from './migrations/1767820000000-public-state';
import { KnownServer1767830000000 } from './migrations/1767830000000-known-server';
import { ForgottenOrders1767840000000 } from './migrations/1767840000000-forgotten-orders';
import { PaymentRequests1767850000000 } from './migrations/1767850000000-payment-requests';
import { ServiceClient } from './service-client';

export const migrations = [
  Baseline1767000000000,
  OrdersOfRenewals1767400000000,
  LateProlongations1767500000000,
  ForgottenKeys1767600000000,
  WrittenOffRequests1767610000000,
  Deposits1767700000000,
  DepositEntries1767710000000,
  DepositConstraints1767720000000,
  PaymentIndexes1767730000000,
  RefundsBeyondDeposits1767800000000,
  FoundCounts1767810000000,
  PublicState1767820000000,
  KnownServer1767830000000,
  ForgottenOrders1767840000000,
  PaymentRequests1767850000000,
];

const DEFAULT_POOL_WAIT_MS = 5000;
const DEFAULT_STATEMENT_TIMEOUT_SECONDS = 30;
const DEFAULT_LOCK_TIMEOUT_SECONDS = 10;
/** How much longer than its statement a response may take: the commit waits for the standby. */
const RESPONSE_GRACE_SECONDS = 5;
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * Limits that the server enforces. pg's own `query_timeout` returns a connection to the pool while its
 * transaction is still open, and the next user of the connection would commit the failed one's changes.
 */
const SERVER_LIMITS = [
  'idle_in_transaction_session_timeout=30s',
  'synchronous_commit=on',
  'TimeZone=UTC',
  'DateStyle=ISO',
];

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
  return {
    type: 'postgres',
    url: database.url,
    applicationName: database.applicationName,
    poolSize: database.poolSize,
    parseInt8: true,
    migrations,
    migrationsTransactionMode: 'each',
    namingStrategy: new NamingStrategy(),
    extra: {
      connectionTimeoutMillis: database.poolWaitMs ?? DEFAULT_POOL_WAIT_MS,
      Client: ServiceClient,
      responseTimeoutMs:
        statementTimeoutSeconds === 0 ? 0 : 1000 * (statementTimeoutSeconds + RESPONSE_GRACE_SECONDS),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      onConnect: identifySession,
      options: [
        ...SERVER_LIMITS,
        `statement_timeout=${statementTimeoutSeconds}s`,
        `lock_timeout=${lockTimeoutSeconds}s`,
      ]
        .map((setting) => `-c ${setting}`)
        .join(' '),
    },
  };
}
