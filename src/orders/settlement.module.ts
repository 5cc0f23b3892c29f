import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProviderModule } from '../provider';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';
import { Order } from './order.entity';
import { Orphan } from './orphan.entity';
import { OrphansService } from './orphans.service';
import { ProviderCallLog } from './provider-call-log';
import { ProviderCall } from './provider-call.entity';
import { ReviewService } from './review.service';

/** What ends orders, without the routes and jobs: staff use it in the service and on the command line. */
@Module({
  imports: [TypeOrmModule.forFeature([Order, Orphan, ProviderCall]), ProviderModule],
  providers: [OrderSteps, OrderSettlement, ProviderCallLog, ReviewService, OrphansService],
  exports: [OrderSteps, OrderSettlement, ProviderCallLog, ReviewService, OrphansService],
})
export class SettlementModule {}
