import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CatalogModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { DispatcherService } from './dispatcher.service';
import { FulfilmentService } from './fulfilment.service';
import { Order } from './order.entity';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';
import { OrdersController } from './orders.controller';
import { OrderJobs } from './orders.jobs';
import { OrdersService } from './orders.service';
import { Orphan } from './orphan.entity';
import { ProlongationDates } from './prolongation-dates';
import { ReconciliationService } from './reconciliation.service';
import { SweepService } from './sweep.service';
import { UpstreamCallLog } from './upstream-call-log';
import { UpstreamCall } from './upstream-call.entity';

@Module({
  imports: [
    TypeOrmModule.forFeature([Order, Orphan, UpstreamCall]),
    ProviderModule,
    CatalogModule,
    LedgerModule,
    ProxiesModule,
  ],
  controllers: [OrdersController],
  providers: [
    OrderSteps,
    OrderSettlement,
    ProlongationDates,
    FulfilmentService,
    DispatcherService,
    OrdersService,
    ReconciliationService,
    OrderJobs,
    SweepService,
    UpstreamCallLog,
  ],
  exports: [DispatcherService, OrdersService, ReconciliationService, SweepService],
})
export class OrdersModule {}
