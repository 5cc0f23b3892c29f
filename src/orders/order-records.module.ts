import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ProviderModule } from '../provider';
import { OrderQueries } from './order-queries';
import { Order } from './order.entity';
import { ProviderCallLog } from './provider-call-log';
import { ReviewService } from './reconciliation/review.service';
import { RecoveryState } from './recovery-state';
import { EndReadings } from './transitions/end-readings';
import { ForgottenOrderRecords } from './transitions/forgotten-order-records';
import { HoldReleases } from './transitions/hold-releases';
import { OrderClaims } from './transitions/order-claims';
import { OutcomeChecks } from './transitions/outcome-checks';
import { ProlongationSettlement } from './transitions/prolongation-settlement';
import { PurchaseSettlement } from './transitions/purchase-settlement';

const SERVICES = [
  OrderQueries,
  OrderClaims,
  EndReadings,
  OutcomeChecks,
  PurchaseSettlement,
  ProlongationSettlement,
  HoldReleases,
  ForgottenOrderRecords,
  ProviderCallLog,
  RecoveryState,
  ReviewService,
];

/**
 * The orders' statements, and what staff decide of orders, without routes and jobs: for the service and the
 * command line.
 */
@Module({
  imports: [TypeOrmModule.forFeature([Order]), ProviderModule],
  providers: SERVICES,
  exports: SERVICES,
})
export class OrderRecordsModule {}
