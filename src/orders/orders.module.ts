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
import { ReconcileOrdersJob } from './reconcile-orders.job';
import { ReconciliationService } from './reconciliation.service';
import { UpstreamCallLog } from './upstream-call-log';
import { UpstreamCall } from './upstream-call.entity';

@Module({
  imports: [
    TypeOrmModule.forFeature([Order, UpstreamCall]),
    ScheduleModule.forRoot(),
    ProviderModule,
    CatalogModule,
    ProxiesModule,
  ],
  controllers: [OrdersController],
  providers: [OrderSteps, OrdersService, ReconciliationService, ReconcileOrdersJob, UpstreamCallLog],
  exports: [OrdersService, ReconciliationService],
})
export class OrdersModule {}
