import { Injectable } from '@nestjs/common';
import { Jobs } from '../../jobs';
import { PaymentSync } from '../deposits/payment-sync';
import { PaymentError, PaymentProvider } from '../provider/payment-provider';
import { DepositRefundsJob } from './deposit-refunds.job';

/** Notifications do not speed up these reads, because anybody can send notifications. */
const READ_EVERY_MS = 1000;
/** Payments beyond this limit are not read here. Reconciliation with the provider will find them. */
const MOST_WAITING = 600;

/** Reads an ended deposit's payment after a notification, because it may since have been paid or refunded. */
@Injectable()
export class EndedPaymentsJob {
  private readonly waiting = new Set<string>();

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly sync: PaymentSync,
    private readonly refunds: DepositRefundsJob,
    jobs: Jobs,
  ) {
    jobs.every('read-ended-payments', READ_EVERY_MS, () => this.readNext());
  }

  readSoon(paymentIds: readonly string[]): void {
    for (const id of paymentIds) if (this.waiting.size < MOST_WAITING) this.waiting.add(id);
  }

  private async readNext(): Promise<void> {
    const [paymentId] = this.waiting;
    if (paymentId === undefined) return;
    this.waiting.delete(paymentId);
    try {
      await this.read(paymentId);
    } catch (error) {
      if (!(error instanceof PaymentError)) throw error;
    }
  }

  /** @throws PaymentError */
  async read(paymentId: string): Promise<void> {
    await this.sync.read(paymentId);
    for await (const { rows } of this.paymentProvider.refundsOf(paymentId)) {
      for (const refund of rows) await this.refunds.takeOver(refund);
    }
  }
}
