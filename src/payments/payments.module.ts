import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { providerHttp, proxyFor } from '../common';
import { AppConfig } from '../config';
import { Retention } from '../jobs';
import { DepositsController } from './deposits/deposits.controller';
import { DepositsService } from './deposits/deposits.service';
import { PaymentSync } from './deposits/payment-sync';
import { DepositRefundsJob } from './following/deposit-refunds.job';
import { EndedPaymentsJob } from './following/ended-payments.job';
import { PaymentNotifications } from './following/payment-notifications';
import { PaymentNotificationsController } from './following/payment-notifications.controller';
import { PaymentReconciliation } from './following/payment-reconciliation';
import { PendingDepositsJob } from './following/pending-deposits.job';
import { IntakeController } from './intake/intake.controller';
import { IntakeService } from './intake/intake.service';
import { PaymentProvider } from './provider/payment-provider';
import { UnusableRowReporter } from './provider/unusable-row-reporter';
import { YooKassaProvider } from './provider/yookassa.provider';
import { DepositRecords } from './records/deposit-records';
import { DepositRefundRecords } from './records/deposit-refund-records';
import { PaymentRecords } from './records/payment-records';
import { DepositRefunds } from './staff/deposit-refunds';
import { UnmatchedPayments } from './staff/unmatched-payments';

/** The provider cannot refund older payments, so their receipt addresses are no longer needed. */
const REFUNDABLE_DAYS = 3 * 366;

/** Imported only if the application accepts payments. */
@Module({
  imports: [
    AuthModule,
    HttpModule.registerAsync({
      inject: [AppConfig],
      useFactory: ({ payments, outgoing }: AppConfig) =>
        providerHttp({
          connectTimeoutMs: 5000,
          idleMs: 5000,
          proxy: proxyFor(payments.baseUrl, outgoing),
        }),
    }),
  ],
  controllers: [DepositsController, PaymentNotificationsController, IntakeController],
  providers: [
    { provide: PaymentProvider, useClass: YooKassaProvider },
    UnusableRowReporter,
    DepositRecords,
    PaymentRecords,
    DepositRefundRecords,
    PaymentSync,
    DepositsService,
    PaymentReconciliation,
    PendingDepositsJob,
    EndedPaymentsJob,
    PaymentNotifications,
    DepositRefundsJob,
    IntakeService,
    DepositRefunds,
    UnmatchedPayments,
  ],
  exports: [DepositsService, DepositRefunds, UnmatchedPayments],
})
export class PaymentsModule {
  constructor(retention: Retention, { retention: { historyDays } }: AppConfig) {
    retention.addOldRows({
      name: 'receipt_addresses',
      table: 'deposits',
      time: 'created_at',
      days: REFUNDABLE_DAYS,
      removal: `UPDATE deposits SET receipt_email = NULL, request = NULL
                 WHERE id = ANY (ARRAY(SELECT id FROM old)) AND request IS NOT NULL`,
    });
    // Deposits with a payment are accounting data, so they are kept.
    retention.addOldRows({
      name: 'unpaid_deposits',
      table: 'deposits',
      time: 'created_at',
      days: historyDays,
      stays: "state = 'pending'",
      removal: `DELETE FROM deposits
                 WHERE id = ANY (ARRAY(SELECT id FROM old)) AND state IN ('canceled', 'expired')
                   AND NOT EXISTS (SELECT FROM payments WHERE deposit_id = deposits.id)`,
    });
  }
}
