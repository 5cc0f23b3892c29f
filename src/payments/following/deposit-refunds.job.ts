import { Injectable, Logger } from '@nestjs/common';
import { type DueRows, Jobs } from '../../jobs';
import {
  PaymentError,
  PaymentProvider,
  PaymentRefused,
  PaymentsForbidden,
  PaymentsUnavailable,
  type ProviderRefund,
} from '../provider/payment-provider';
import { type DueDepositRefund, DepositRefundRecords } from '../records/deposit-refund-records';
import { PaymentRecords } from '../records/payment-records';

const LOOK_EVERY_MS = 1000;
const AT_ONCE = 4;
/** Maximum time from an attempt's start to its call. After that, another replica may have taken over. */
const SENT_WITHIN_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

/**
 * Requests refunds from the provider. If the outcome is unknown, the request is retried under the same key.
 * Such a refund counts as failed only if a complete list of refunds, read a day after the last call, does not
 * contain it.
 */
@Injectable()
export class DepositRefundsJob {
  private readonly logger = new Logger('Payments');
  private readonly due: DueRows<DueDepositRefund>;

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly records: DepositRefundRecords,
    private readonly payments: PaymentRecords,
    jobs: Jobs,
  ) {
    this.due = jobs.due<DueDepositRefund>({
      name: 'deposit-refunds',
      lookEveryMs: LOOK_EVERY_MS,
      atOnce: AT_ONCE,
      waiting: `SELECT count(*)::integer AS count, min(next_try_at) AS oldest
                  FROM deposit_refunds WHERE next_try_at <= now()`,
      isDue: () => 'EXISTS (SELECT FROM deposit_refunds WHERE next_try_at <= now())',
      claim: async (capacity) => {
        const rows = await this.records.claimDue(this.paymentProvider.name, capacity);
        return { rows, isMore: rows.length === capacity };
      },
      execute: (refund) =>
        refund.isSendable && !refund.mayBeMade ? this.request(refund) : this.follow(refund),
    });
  }

  wake(): void {
    this.due.wake();
  }

  /** @returns whether the refund is new and was made outside this service */
  async takeOver(refund: ProviderRefund): Promise<boolean> {
    await this.settle(refund);
    // A refund that succeeded after we had recorded its failure is treated like a refund made elsewhere.
    if (refund.state !== 'succeeded') return false;
    const isNew = await this.records.find(this.paymentProvider.name, refund);
    await this.payments.recordReceipt('refund', this.paymentProvider.name, refund);
    if (isNew) this.logger.warn('a refund was made at the provider: staff have to decide');
    return isNew;
  }

  private async request(refund: DueDepositRefund): Promise<void> {
    try {
      await this.send(refund);
    } catch (error) {
      if (error instanceof PaymentRefused) await this.fail(refund.refundKey, error.reason, refund.nextTry);
      else if (error instanceof PaymentsUnavailable) {
        await this.records.recordRefusal(refund, reasonOf(error), true);
      } else if (!(error instanceof PaymentError)) throw error;
    }
  }

  private async follow(refund: DueDepositRefund): Promise<void> {
    try {
      let unreadable = 0;
      for await (const page of this.paymentProvider.refundsOf(refund.paymentId)) {
        const own = page.rows.find(({ refundKey }) => refundKey === refund.refundKey);
        if (own) return await this.settle(own);
        unreadable += page.unreadable;
      }
      // One of the unreadable rows may be this refund, so decide later.
      if (unreadable > 0) return;
      if (refund.isSendable) await this.send(refund);
      else if (this.isListedByNow(refund)) await this.fail(refund.refundKey, 'not listed', refund.nextTry);
    } catch (error) {
      if (!(error instanceof PaymentError)) throw error;
      // A refusal does not end the refund: an earlier call may have made it, and the list may lag behind.
      const reason = reasonOf(error);
      if (reason !== null) await this.records.recordRefusal(refund, reason, false);
    }
  }

  private async send(refund: DueDepositRefund): Promise<void> {
    const beganMs = performance.now();
    // Every response contains the provider's time. If no recent time is known, request a list to learn it.
    if (this.paymentProvider.time() === null) {
      await this.paymentProvider
        .refundsOf(refund.paymentId)
        .next()
        .catch(() => undefined);
    }
    const request = await this.records.recordSending(
      refund,
      refund.request ?? this.paymentProvider.refundRequest(refund),
      this.paymentProvider.time(),
    );
    if (request === null || performance.now() - beganMs > SENT_WITHIN_MS) return;
    await this.settle(await this.paymentProvider.refund(refund.refundKey, request));
  }

  /** Whether a day has passed since the last call, by both the database's and the provider's clock. */
  private isListedByNow({ isListedByNow, sentAt }: DueDepositRefund): boolean {
    const time = this.paymentProvider.time();
    return (
      isListedByNow && (sentAt === null || (time !== null && time.getTime() - sentAt.getTime() > DAY_MS))
    );
  }

  private async settle(refund: ProviderRefund): Promise<void> {
    const { state, refundKey, reason } = refund;
    if (refundKey === null) return;
    if (state === 'succeeded') {
      await this.records.succeed(this.paymentProvider.name, { ...refund, refundKey });
      await this.payments.recordReceipt('refund', this.paymentProvider.name, refund);
    }
    if (state === 'canceled') await this.fail(refundKey, reason);
  }

  private async fail(refundKey: string, reason: string | null, nextTry?: string): Promise<void> {
    if (await this.records.fail(refundKey, reason, nextTry)) this.logger.warn(`a refund failed: ${reason}`);
  }
}

const reasonOf = (error: PaymentError): string | null =>
  error instanceof PaymentRefused || error instanceof PaymentsForbidden ? error.reason : null;
