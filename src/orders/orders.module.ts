import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { CatalogModule } from '../catalog';
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
import { OrderRecordsModule } from './order-records.module';
import { OrderRetention } from './order-retention';
import { OrderWaits } from './order-waits';
import { OrderJobs } from './orders.jobs';
import { OrderChecks } from './placing/order-checks';
import { OrderPlacement } from './placing/order-placement';
import { OrdersController } from './placing/orders.controller';
import { OrdersService } from './placing/orders.service';
import { RenewalOrders } from './placing/renewal-orders.service';
import { OrderReadingController } from './reading/order-reading.controller';
import { OrderReadingService } from './reading/order-reading.service';
import { ReconciliationService } from './reconciliation/reconciliation.service';

@Module({
  imports: [AuthModule, OrderRecordsModule, ProviderModule, CatalogModule, LedgerModule, ProxiesModule],
  controllers: [OrdersController, BulkController, OrderReadingController],
  providers: [
    BatchCallService,
    BulkProlongations,
    BulkRecords,
    DispatcherService,
    EndReader,
    OrderRequests,
    OrderChecks,
    OrderPlacement,
    OrdersService,
    OrderReadingService,
    OrderWaits,
    ReconciliationService,
    RenewalOrders,
    OrderJobs,
    OrderRetention,
  ],
  exports: [DispatcherService, OrdersService, OrderWaits, ReconciliationService, RenewalOrders],
})
export class OrdersModule {}
