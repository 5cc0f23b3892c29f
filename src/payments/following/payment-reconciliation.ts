import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { isRefusedData, queryRow, queryRows } from '../../database';
import { type LeasedRun, Jobs } from '../../jobs';
import { PaymentSync } from '../deposits/payment-sync';
import { type ProviderPage, PaymentProvider, type ProviderPayment } from '../provider/payment-provider';
import { UnusableRowReporter } from '../provider/unusable-row-reporter';
import { RECEIPT_WITHIN_SQL } from '../records/waiting-payments';
import { DepositRefundsJob } from './deposit-refunds.job';

interface ComparedSpan {
  readonly since: Date;
  /** May be earlier than `since`, to find older refunds of payments that staff have since credited. */
  readonly refundsSince: Date;
  readonly now: Date;
}

/** Each comparison overlaps the previous one, because rows may be listed late and clocks may differ. */
const OVERLAP = `interval '1 hour'`;
/** How far back the first comparison goes if there are no deposits. */
const FIRST = `interval '1 day'`;

/** Returns SQL for a time shortly before the oldest row whose fiscal receipt is still pending. */
const firstPendingReceipt = (table: string): string => `
  (SELECT min(created_at) - ${OVERLAP} FROM ${table}
    WHERE provider = $1 AND receipt_registration = 'pending' AND closed_at > now() - ${RECEIPT_WITHIN_SQL})`;

/** Compares our payments with the provider's list, and credits payments whose notifications were lost. */
@Injectable()
export class PaymentReconciliation {
  constructor(
    private readonly dataSource: DataSource,
    private readonly paymentProvider: PaymentProvider,
    private readonly sync: PaymentSync,
    private readonly refunds: DepositRefundsJob,
    private readonly unusable: UnusableRowReporter,
    { payments }: AppConfig,
    jobs: Jobs,
  ) {
    jobs.run({
      name: 'compare-payments',
      everySeconds: payments.compareSeconds,
      execute: (run) => this.compare(run),
    });
  }

  /** If a pass fails, the next one covers the same period again. */
  private async compare(run: LeasedRun): Promise<object> {
    const report = { payments: 0, credited: 0, unmatched: 0, refunds: 0, found_refunds: 0, unusable: 0 };
    await run.renew(report);
    const { since, refundsSince, now } = await this.span();
    const apply = async <Row extends { readonly id: string }>(
      list: 'payments' | 'refunds',
      pages: AsyncIterable<ProviderPage<Row>>,
      takeOver: (row: Row) => Promise<void>,
    ): Promise<void> => {
      for await (const { rows, unreadable } of pages) {
        await run.renew(report);
        report[list] += rows.length;
        report.unusable += unreadable;
        for (const row of rows) {
          try {
            await takeOver(row);
          } catch (error) {
            // If the database rejects a row, continue with the other customers' rows.
            if (!isRefusedData(error)) throw error;
            report.unusable += 1;
            this.unusable.report(list, row, 'the database refused it');
          }
        }
      }
    };
    const takeOver = async (payment: ProviderPayment): Promise<void> => {
      const { outcome } = await this.sync.takeOver(payment);
      if (outcome === 'credited' || outcome === 'unmatched') report[outcome] += 1;
    };
    await apply('payments', this.paymentProvider.paymentsSince(since), takeOver);
    // Also list payments by when they were paid, which may be days after their creation, or even after their
    // cancellation.
    await apply('payments', this.paymentProvider.paymentsSince(since, 'captured_at'), async (payment) => {
      if (payment.createdAt < since) await takeOver(payment);
    });
    let pendingSince: Date | null = null;
    await apply('refunds', this.paymentProvider.refundsSince(refundsSince), async (refund) => {
      if (await this.refunds.takeOver(refund)) report.found_refunds += 1;
      if (refund.state === 'pending') pendingSince = earlier(pendingSince, refund.createdAt);
    });
    await this.complete(now, pendingSince);
    return report;
  }

  private span(): Promise<ComparedSpan> {
    return queryRow(
      this.dataSource,
      `SELECT least(since, ${firstPendingReceipt('deposits')}) AS since, clock_timestamp() AS now,
              least(since, ${firstPendingReceipt('deposit_refunds')},
                    (SELECT refunds_pending_since FROM payment_comparisons WHERE provider = $1),
                    (SELECT min(paid_at) - ${OVERLAP} FROM payments
                             WHERE provider = $1 AND state = 'credited' AND action_id IS NOT NULL
                               AND closed_at >= since)) AS "refundsSince"
         FROM coalesce((SELECT compared_to - ${OVERLAP} FROM payment_comparisons
                         -- Ignore a time in the future, which was stored before the database's clock was set
                         -- back.
                         WHERE provider = $1 AND compared_to <= now() + interval '1 minute'),
                       (SELECT min(created_at) - ${OVERLAP} FROM deposits WHERE provider = $1),
                       now() - ${FIRST}) AS since`,
      [this.paymentProvider.name],
    );
  }

  private async complete(comparedTo: Date, pendingSince: Date | null): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO payment_comparisons (provider, compared_to, refunds_pending_since) VALUES ($1, $2, $3)
       ON CONFLICT (provider) DO UPDATE SET compared_to = excluded.compared_to,
                                            refunds_pending_since = excluded.refunds_pending_since`,
      [this.paymentProvider.name, comparedTo, pendingSince],
    );
  }
}

const earlier = (one: Date | null, other: Date): Date => (one !== null && one < other ? one : other);
