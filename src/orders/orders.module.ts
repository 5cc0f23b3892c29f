import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { CatalogModule } from '../catalog';
import { AppConfig } from '../config';
import { sqlList } from '../database';
import { Jobs } from '../jobs';
import { LedgerModule } from '../ledger';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { BulkProlongations } from './bulk/bulk-prolongations';
import { BulkRecords } from './bulk/bulk-records';
import { BulkController } from './bulk/bulk.controller';
import { BatchCallService } from './dispatch/batch-call.service';
import { DispatcherService } from './dispatch/dispatcher.service';
import { EndReader } from './dispatch/end-reader';
import { OrderWaiters } from './dispatch/order-waiters';
import { Maintenance } from './maintenance';
import { OrderQueries } from './order-queries';
import { OrderRetention } from './order-retention';
import { UNATTENDED_STATES } from './order-states';
import { OrderChecks } from './placing/order-checks';
import { OrderPlacement } from './placing/order-placement';
import { OrdersService } from './placing/orders.service';
import { PlacingController } from './placing/placing.controller';
import { RenewalOrders } from './placing/renewal-orders';
import { ProviderCallLog } from './provider-call-log';
import { OrderReadingService } from './reading/order-reading.service';
import { OrdersController } from './reading/orders.controller';
import { ReconciliationService } from './reconciliation/reconciliation.service';
import { ReviewService } from './reconciliation/review.service';
import { EndReadClaims } from './transitions/end-read-claims';
import { ForgottenOrderRecords } from './transitions/forgotten-order-records';
import { OrderCancellations } from './transitions/order-cancellations';
import { OrderClaims } from './transitions/order-claims';
import { OutcomeSearchRecords } from './transitions/outcome-search-records';
import { Settlement } from './transitions/settlement';

/** Short, so that the first search after a lost response comes within a second. */
const RECONCILE_INTERVAL_MS = 1000;
const SEARCHES_AT_ONCE = 20;
const IS_SEARCH_DUE = `FROM orders WHERE state IN ${sqlList(UNATTENDED_STATES)} AND next_search_at <= now()`;
const DUE_SEARCHES = `SELECT count(*)::integer AS count, min(next_search_at) AS oldest ${IS_SEARCH_DUE}`;

const RECORDS = [
  OrderQueries,
  OrderClaims,
  EndReadClaims,
  OutcomeSearchRecords,
  Settlement,
  OrderCancellations,
  ForgottenOrderRecords,
  ProviderCallLog,
  Maintenance,
  ReviewService,
];

@Module({
  imports: [AuthModule, ProviderModule, CatalogModule, LedgerModule, ProxiesModule],
  controllers: [PlacingController, BulkController, OrdersController],
  providers: [
    ...RECORDS,
    BatchCallService,
    BulkProlongations,
    BulkRecords,
    DispatcherService,
    EndReader,
    OrderWaiters,
    OrderChecks,
    OrderPlacement,
    OrdersService,
    OrderReadingService,
    ReconciliationService,
    RenewalOrders,
    OrderRetention,
  ],
  exports: [
    ...RECORDS,
    BulkProlongations,
    DispatcherService,
    OrderReadingService,
    OrderWaiters,
    OrdersService,
    RenewalOrders,
  ],
})
export class OrdersModule {
  constructor(jobs: Jobs, { tuning }: AppConfig, reconciliation: ReconciliationService) {
    // Claiming a search also schedules the next one, which failures and leases must not move: only searches
    // that keep to the schedule prove that an order bought nothing.
    const intervalMs = tuning.reconcileIntervalMs ?? RECONCILE_INTERVAL_MS;
    jobs.every('reconcile-orders', intervalMs, () => reconciliation.settleDue(SEARCHES_AT_ONCE), {
      waiting: DUE_SEARCHES,
      isDue: () => `EXISTS (SELECT ${IS_SEARCH_DUE})`,
    });
  }
}
