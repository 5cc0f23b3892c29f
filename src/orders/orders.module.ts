import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CatalogModule } from '../catalog';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { Order } from './order.entity';
import { OrderSteps } from './order-steps';
import { OrdersController } from './orders.controller';
import { OrdersService } from './orders.service';
import { Orphan } from './orphan.entity';
import { ReconcileOrdersJob } from './reconcile-orders.job';
import { ReconciliationService } from './reconciliation.service';
import { SweepJob } from './sweep.job';
import { SweepService } from './sweep.service';
import { UpstreamCallLog } from './upstream-call-log';
import { UpstreamCall } from './upstream-call.entity';

@Module({
  imports: [
    TypeOrmModule.forFeature([Order, Orphan, UpstreamCall]),
    ScheduleModule.forRoot(),
    ProviderModule,
    CatalogModule,
    ProxiesModule,
  ],
  controllers: [OrdersController],
  providers: [
    OrderSteps,
    OrdersService,
    ReconciliationService,
    ReconcileOrdersJob,
    SweepService,
    SweepJob,
    UpstreamCallLog,
  ],
  exports: [OrdersService, ReconciliationService, SweepService],
})
export class OrdersModule {}
