import type { DataSourceOptions } from 'typeorm';
import { identifySession } from './lost-answers';
import { InitialSchema1764000000000 } from './migrations/1764000000000-initial-schema';
import { Sweep1764100000000 } from './migrations/1764100000000-sweep';
import { UpstreamAtItsLimits1764200000000 } from './migrations/1764200000000-upstream-at-its-limits';
import { Staff1764300000000 } from './migrations/1764300000000-staff';
import { PriceRules1764400000000 } from './migrations/1764400000000-price-rules';
import { StaffOrders1764500000000 } from './migrations/1764500000000-staff-orders';
import { SalesDays1764600000000 } from './migrations/1764600000000-sales-days';
import { Revisions1764700000000 } from './migrations/1764700000000-revisions';
import { TokenChanges1764800000000 } from './migrations/1764800000000-token-changes';
import { ProxyReferences1764900000000 } from './migrations/1764900000000-proxy-references';
import { DropTokenNotifications1765000000000 } from './migrations/1765000000000-drop-token-notifications';
import { ServiceRole1765100000000 } from './migrations/1765100000000-service-role';
import { ReplayWindow1765300000000 } from './migrations/1765300000000-replay-window';
import { WaitingAges1765400000000 } from './migrations/1765400000000-waiting-ages';
import { RefusalsAndIssuers1765500000000 } from './migrations/1765500000000-refusals-and-issuers';
import { TokenIssuers1765500000001 } from './migrations/1765500000001-token-issuers';
import { RequestCounts1765600000000 } from './migrations/1765600000000-request-counts';
import { OrdersTogether1765700000000 } from './migrations/1765700000000-orders-together';
import { OrdersWithFewerIndexes1765700000001 } from './migrations/1765700000001-orders-with-fewer-indexes';
import { AnswersAsText1765710000000 } from './migrations/1765710000000-answers-as-text';
import { ProlongationsOfAUser1765750000000 } from './migrations/1765750000000-prolongations-of-a-user';
import { OrdersOfACustomer1765800000000 } from './migrations/1765800000000-orders-of-a-customer';
import { OrdersByTime1765800000001 } from './migrations/1765800000001-orders-by-time';
import { ACustomersOwnBooks1765801000000 } from './migrations/1765801000000-a-customers-own-books';
import { PeriodsOfProxies1765801000001 } from './migrations/1765801000001-periods-of-proxies';
import { MaxPrices1765802000000 } from './migrations/1765802000000-max-prices';
import { MaxPricesHold1765802000001 } from './migrations/1765802000001-max-prices-hold';
import { RefusalsWithKeptPlans1765802000002 } from './migrations/1765802000002-refusals-with-kept-plans';
import { BulkProlongations1765803000000 } from './migrations/1765803000000-bulk-prolongations';
import { TagsOfCustomers1765804000000 } from './migrations/1765804000000-tags-of-customers';
import { ProxyChanges1765804000001 } from './migrations/1765804000001-proxy-changes';
import { ProxyChangesByRow1765804000002 } from './migrations/1765804000002-proxy-changes-by-row';
import { ExportLinks1765806000000 } from './migrations/1765806000000-export-links';
import { ProxyTypeChanges1765807000000 } from './migrations/1765807000000-proxy-type-changes';
import { ProxyTrials1765807000001 } from './migrations/1765807000001-proxy-trials';
import { AuditRuns1765910000000 } from './migrations/1765910000000-audit-runs';
import { EntriesByTime1765910000001 } from './migrations/1765910000001-entries-by-time';
import { Retention1765910000002 } from './migrations/1765910000002-retention';
import { WhatIsKept1765910000003 } from './migrations/1765910000003-what-is-kept';
import { Recoveries1765940000000 } from './migrations/1765940000000-recoveries';
import { ForgottenOrders1765940000001 } from './migrations/1765940000001-forgotten-orders';
import { ForgottenKeys1765940000002 } from './migrations/1765940000002-forgotten-keys';
import { SuccessesOfJobs1765950000000 } from './migrations/1765950000000-successes-of-jobs';
import { Events1766000000000 } from './migrations/1766000000000-events';
import { EventsOfChanges1766000000001 } from './migrations/1766000000001-events-of-changes';
import { EventsByTime1766000000002 } from './migrations/1766000000002-events-by-time';
import { StagesBeforeTheEnd1766010000000 } from './migrations/1766010000000-stages-before-the-end';
import { ProxiesByEndAndStage1766010000001 } from './migrations/1766010000001-proxies-by-end-and-stage';
import { EventsByPosition1766010000002 } from './migrations/1766010000002-events-by-position';
import { Webhooks1766020000000 } from './migrations/1766020000000-webhooks';
import { EventsForWebhooks1766020000001 } from './migrations/1766020000001-events-for-webhooks';
import { DeliveriesHaveEvents1766020000002 } from './migrations/1766020000002-deliveries-have-events';
import { WebhooksInTrouble1766020000003 } from './migrations/1766020000003-webhooks-in-trouble';
import { WebhookPauses1766030000000 } from './migrations/1766030000000-webhook-pauses';
import { WebhookReasons1766030000001 } from './migrations/1766030000001-webhook-reasons';
import { WebhookLeases1766030000002 } from './migrations/1766030000002-webhook-leases';
import { Renewals1766040000000 } from './migrations/1766040000000-renewals';
import { PlacingRenewals1766050000000 } from './migrations/1766050000000-placing-renewals';
import { DueRenewals1766050000001 } from './migrations/1766050000001-due-renewals';
import { TriesOfRenewals1766050000002 } from './migrations/1766050000002-tries-of-renewals';
import { PausedRenewals1766060000000 } from './migrations/1766060000000-paused-renewals';
import { RenewalsByTime1766060000001 } from './migrations/1766060000001-renewals-by-time';
import { TokenOrigins1766070000000 } from './migrations/1766070000000-token-origins';
import { TokenReferences1766070000001 } from './migrations/1766070000001-token-references';
import { RulesAtPlacement1766100000000 } from './migrations/1766100000000-rules-at-placement';
import { KeysOfRequests1766110000000 } from './migrations/1766110000000-keys-of-requests';
import { NamesOfUsers1766120000000 } from './migrations/1766120000000-names-of-users';
import { BlockedReceivers1766130000000 } from './migrations/1766130000000-blocked-receivers';
import { RentalsOfAUser1766140000000 } from './migrations/1766140000000-rentals-of-a-user';
import { CompletedSweeps1766150000000 } from './migrations/1766150000000-completed-sweeps';
import { OrdersByTheirColumns1766150000001 } from './migrations/1766150000001-orders-by-their-columns';
import { RefusalsOfRenewals1766160000000 } from './migrations/1766160000000-refusals-of-renewals';
import { TextOfAMoment1766170000000 } from './migrations/1766170000000-text-of-a-moment';
import { OneWriterOfEvents1766170000001 } from './migrations/1766170000001-one-writer-of-events';
import { ServiceClient } from './service-client';
import { SnakeNamingStrategy } from './snake-naming.strategy';

export const migrations = [
  InitialSchema1764000000000,
  Sweep1764100000000,
  UpstreamAtItsLimits1764200000000,
  Staff1764300000000,
  PriceRules1764400000000,
  StaffOrders1764500000000,
  SalesDays1764600000000,
  Revisions1764700000000,
  TokenChanges1764800000000,
  ProxyReferences1764900000000,
  DropTokenNotifications1765000000000,
  ServiceRole1765100000000,
  ReplayWindow1765300000000,
  WaitingAges1765400000000,
  RefusalsAndIssuers1765500000000,
  TokenIssuers1765500000001,
  RequestCounts1765600000000,
  OrdersTogether1765700000000,
  OrdersWithFewerIndexes1765700000001,
  AnswersAsText1765710000000,
  ProlongationsOfAUser1765750000000,
  OrdersOfACustomer1765800000000,
  OrdersByTime1765800000001,
  ACustomersOwnBooks1765801000000,
  PeriodsOfProxies1765801000001,
  MaxPrices1765802000000,
  MaxPricesHold1765802000001,
  RefusalsWithKeptPlans1765802000002,
  BulkProlongations1765803000000,
  TagsOfCustomers1765804000000,
  ProxyChanges1765804000001,
  ProxyChangesByRow1765804000002,
  ExportLinks1765806000000,
  ProxyTypeChanges1765807000000,
  ProxyTrials1765807000001,
  AuditRuns1765910000000,
  EntriesByTime1765910000001,
  Retention1765910000002,
  WhatIsKept1765910000003,
  Recoveries1765940000000,
  ForgottenOrders1765940000001,
  ForgottenKeys1765940000002,
  SuccessesOfJobs1765950000000,
  Events1766000000000,
  EventsOfChanges1766000000001,
  EventsByTime1766000000002,
  StagesBeforeTheEnd1766010000000,
  ProxiesByEndAndStage1766010000001,
  EventsByPosition1766010000002,
  Webhooks1766020000000,
  EventsForWebhooks1766020000001,
  DeliveriesHaveEvents1766020000002,
  WebhooksInTrouble1766020000003,
  WebhookPauses1766030000000,
  WebhookReasons1766030000001,
  WebhookLeases1766030000002,
  Renewals1766040000000,
  PlacingRenewals1766050000000,
  DueRenewals1766050000001,
  TriesOfRenewals1766050000002,
  PausedRenewals1766060000000,
  RenewalsByTime1766060000001,
  TokenOrigins1766070000000,
  TokenReferences1766070000001,
  RulesAtPlacement1766100000000,
  KeysOfRequests1766110000000,
  NamesOfUsers1766120000000,
  BlockedReceivers1766130000000,
  RentalsOfAUser1766140000000,
  CompletedSweeps1766150000000,
  OrdersByTheirColumns1766150000001,
  RefusalsOfRenewals1766160000000,
  TextOfAMoment1766170000000,
  OneWriterOfEvents1766170000001,
];

const DEFAULT_POOL_WAIT_MS = 5000;
const DEFAULT_STATEMENT_TIMEOUT_SECONDS = 30;
const DEFAULT_LOCK_TIMEOUT_SECONDS = 10;
/** What the answer of a statement may take longer than the statement: its commit waits for the standby. */
const ANSWER_TAKES_LONGER_SECONDS = 5;
const KEEP_ALIVE_AFTER_MS = 10_000;

/**
 * Limits that the server enforces. pg's own `query_timeout` returns a connection to the pool while its
 * transaction is still open, and the next user of the connection would commit what the failed one left.
 */
const SERVER_LIMITS = [
  'idle_in_transaction_session_timeout=30s',
  'synchronous_commit=on',
  'TimeZone=UTC',
  'DateStyle=ISO',
];

/** Options of the service's data source. By `parseInt8`, ids are numbers, which are exact up to 2^53. */
export function dataSourceOptions(database: {
  url: string;
  poolSize: number;
  /** The longest wait for a free connection. */
  poolWaitMs?: number;
  /** 0: no limit. */
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
    namingStrategy: new SnakeNamingStrategy(),
    extra: {
      connectionTimeoutMillis: database.poolWaitMs ?? DEFAULT_POOL_WAIT_MS,
      Client: ServiceClient,
      answerTimeoutMs:
        statementTimeoutSeconds === 0 ? 0 : 1000 * (statementTimeoutSeconds + ANSWER_TAKES_LONGER_SECONDS),
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
