import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { CatalogModule } from '../catalog';
import { AppConfig } from '../config';
import { sqlList } from '../database';
import { Jobs } from '../jobs';
import { LedgerModule } from '../ledger';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { BulkProlongations } from './bulk/bulk-prolongations.service';
import { BulkRecords } from './bulk/bulk-records';
import { BulkController } from './bulk/bulk.controller';
import { BatchCallService } from './dispatch/batch-call.service';
import { DispatcherService } from './dispatch/dispatcher.service';
import { EndReader } from './dispatch/end-reader';
import { OrderRequests } from './dispatch/order-requests';
import { Maintenance } from './maintenance';
import { OrderQueries } from './order-queries';
import { OrderRetention } from './order-retention';
import { UNATTENDED_STATES } from './order-states';
import { OrderPlacement } from './placing/order-placement';
import { OrderRefusals } from './placing/order-refusals';
import { OrdersController } from './placing/orders.controller';
import { OrdersService } from './placing/orders.service';
import { RenewalOrders } from './placing/renewal-orders.service';
import { ProviderCallLog } from './provider-call-log';
import { OrderReadingController } from './reading/order-reading.controller';
import { OrderReadingService } from './reading/order-reading.service';
import { ReconciliationService } from './reconciliation/reconciliation.service';
import { ReviewService } from './reconciliation/review.service';
import { EndReadings } from './transitions/end-readings';
import { ForgottenOrderRecords } from './transitions/forgotten-order-records';
import { HoldReleases } from './transitions/hold-releases';
import { OrderClaims } from './transitions/order-claims';
import { OutcomeSearches } from './transitions/outcome-searches';
import { Settlement } from './transitions/settlement';

/** An order whose response was lost is first searched for within a second. */
const RECONCILE_INTERVAL_MS = 1000;
const SEARCHES_AT_ONCE = 20;
const DUE_SEARCHES = `
  SELECT count(*)::integer AS count, min(next_search_at) AS oldest
    FROM orders WHERE state IN ${sqlList(UNATTENDED_STATES)} AND next_search_at <= now()`;

/** The statements of orders, and staff's decisions about them. */
const RECORDS = [
  OrderQueries,
  OrderClaims,
  EndReadings,
  OutcomeSearches,
  Settlement,
  HoldReleases,
  ForgottenOrderRecords,
  ProviderCallLog,
  Maintenance,
  ReviewService,
];

@Module({
  imports: [AuthModule, ProviderModule, CatalogModule, LedgerModule, ProxiesModule],
  controllers: [OrdersController, BulkController, OrderReadingController],
  providers: [
    ...RECORDS,
    BatchCallService,
    BulkProlongations,
    BulkRecords,
    DispatcherService,
    EndReader,
    OrderRequests,
    OrderRefusals,
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
    OrderRequests,
    OrdersService,
    RenewalOrders,
  ],
})
export class OrdersModule {
  constructor(jobs: Jobs, { tuning }: AppConfig, reconciliation: ReconciliationService) {
    // The schedule of searches decides what counts as evidence, so no failure or lease may move it: the claim
    // of a search sets the time of the next.
    const intervalMs = tuning.reconcileIntervalMs ?? RECONCILE_INTERVAL_MS;
    jobs.every('reconcile-orders', intervalMs, () => reconciliation.settleDue(SEARCHES_AT_ONCE), {
      waiting: DUE_SEARCHES,
    });
  }
}
