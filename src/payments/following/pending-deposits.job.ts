import { Injectable } from '@nestjs/common';
import { type DueRows, Jobs } from '../../jobs';
import { PaymentSync } from '../deposits/payment-sync';
import { PaymentError, PaymentProvider } from '../provider/payment-provider';
import { DepositRecords, type DueDeposit } from '../records/deposit-records';

const LOOK_EVERY_MS = 1000;
const AT_ONCE = 10;
/** How long a payment's creation is retried. The provider remembers the key for far longer. */
const CREATED_FOR_SECONDS = 3600;

/** Reads payments of pending deposits soon after a notification, otherwise at growing intervals. */
@Injectable()
export class PendingDepositsJob {
  private readonly due: DueRows<DueDeposit>;

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly sync: PaymentSync,
    jobs: Jobs,
  ) {
    this.due = jobs.due<DueDeposit>({
      name: 'read-deposits',
      lookEveryMs: LOOK_EVERY_MS,
      atOnce: AT_ONCE,
      waiting: `SELECT count(*)::integer AS count, min(next_read_at) AS oldest
                  FROM deposits WHERE next_read_at <= now()`,
      isDue: () => 'EXISTS (SELECT FROM deposits WHERE next_read_at <= now())',
      claim: async (capacity) => {
        const rows = await this.records.claimDue(this.paymentProvider.name, capacity);
        return { rows, isMore: rows.length === capacity };
      },
      execute: (deposit) => this.read(deposit),
    });
  }

  wake(): void {
    this.due.wake();
  }

  private async read(deposit: DueDeposit): Promise<void> {
    try {
      if (deposit.paymentId !== null) await this.sync.read(deposit.paymentId);
      else if (deposit.ageSeconds < CREATED_FOR_SECONDS) await this.sync.create(deposit);
      else await this.records.expireUnseen(deposit.depositId);
    } catch (error) {
      // Ignore provider errors: the claim has already scheduled the next read.
      if (!(error instanceof PaymentError)) throw error;
    }
  }
}
