import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { PROVIDER_HTTP } from '../common';
import { DepositWaits } from './deposits/deposit-waits';
import { DepositsController } from './deposits/deposits.controller';
import { DepositsService } from './deposits/deposits.service';
import { PaymentFollowing } from './deposits/payment-following';
import { Comparison } from './following/comparison';
import { DepositChecks } from './following/deposit-checks';
import { Notifications } from './following/notifications';
import { NotificationsController } from './following/notifications.controller';
import { Refunds } from './following/refunds';
import { IntakeController } from './intake/intake.controller';
import { IntakeService } from './intake/intake.service';
import { PaymentProvider } from './provider/payment-provider';
import { YooKassaProvider } from './provider/yookassa.provider';
import { ComparisonRecords } from './records/comparison-records';
import { DepositRecords } from './records/deposit-records';
import { PaymentRecords } from './records/payment-records';
import { PaymentsRetention } from './records/payments-retention';
import { RefundRecords } from './records/refund-records';
import { DepositRefunds } from './staff/deposit-refunds';
import { UnmatchedPayments } from './staff/unmatched-payments';

/** Deposits, imported only by an application that accepts payments. */
@Module({
  imports: [AuthModule, HttpModule.register(PROVIDER_HTTP)],
  controllers: [DepositsController, NotificationsController, IntakeController],
  providers: [
    { provide: PaymentProvider, useClass: YooKassaProvider },
    ComparisonRecords,
    DepositRecords,
    PaymentRecords,
    RefundRecords,
    PaymentsRetention,
    DepositWaits,
    PaymentFollowing,
    DepositsService,
    Comparison,
    DepositChecks,
    Notifications,
    Refunds,
    IntakeService,
    DepositRefunds,
    UnmatchedPayments,
  ],
  exports: [DepositRefunds, UnmatchedPayments],
})
export class PaymentsModule {}
