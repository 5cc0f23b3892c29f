import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { DispatcherService } from './dispatcher.service';
import { FulfilmentService } from './fulfilment.service';
import { OrdersController } from './orders.controller';
import { OrderJobs } from './orders.jobs';
import { OrdersService } from './orders.service';
import { ProlongationDates } from './prolongation-dates';
import { ReconciliationService } from './reconciliation.service';
import { SettlementModule } from './settlement.module';
import { SweepService } from './sweep.service';

@Module({
  imports: [SettlementModule, ProviderModule, CatalogModule, LedgerModule, ProxiesModule],
  controllers: [OrdersController],
  providers: [
    ProlongationDates,
    FulfilmentService,
    DispatcherService,
    OrdersService,
    ReconciliationService,
    OrderJobs,
    SweepService,
  ],
  exports: [DispatcherService, OrdersService, ReconciliationService, SweepService],
})
export class OrdersModule {}
