import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProviderModule } from '../provider';
import { OrderQueries } from './order-queries';
import { OrderTransitions } from './order-transitions';
import { Order } from './order.entity';
import { ProviderCallLog } from './provider-call-log';
import { ProviderCall } from './provider-call.entity';
import { ReviewService } from './reconciliation/review.service';
import { ForgottenOrdersService } from './recovery/forgotten-orders.service';
import { RecoveryService } from './recovery/recovery.service';
import { Orphan } from './sweep/orphan.entity';
import { OrphansService } from './sweep/orphans.service';
import { WithdrawalsService } from './sweep/withdrawals.service';

const SERVICES = [
  OrderQueries,
  OrderTransitions,
  ProviderCallLog,
  ForgottenOrdersService,
  RecoveryService,
  ReviewService,
  OrphansService,
  WithdrawalsService,
];

/**
 * The orders' statements, and what staff decide of orders, without routes and jobs: for the service and the
 * command line.
 */
@Module({
  imports: [TypeOrmModule.forFeature([Order, Orphan, ProviderCall]), ProviderModule],
  providers: SERVICES,
  exports: SERVICES,
})
export class OrderRecordsModule {}
