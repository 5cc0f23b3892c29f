import { Injectable } from '@nestjs/common';
import { type DueRows, Work } from '../../work';
import { PaymentFollowing } from '../deposits/payment-following';
import { PaymentError } from '../provider/payment-errors';
import { PaymentProvider } from '../provider/payment-provider';
import { DepositRecords, type DueDeposit } from '../records/deposit-records';

const LOOK_EVERY_MS = 1000;
/** Enough for a storm of notifications; the provider's answers take some tenths of a second. */
const AT_ONCE = 10;
/** For how long a creation that was not confirmed is tried again: far less than its key is remembered. */
const CREATED_FOR_SECONDS = 3600;

/**
 * Reads the payments of pending deposits until they end: soon after a notification, and without any with
 * growing pauses. The claim of a check sets the moment of the next one, so that a replica that dies costs
 * nothing but a pause.
 */
@Injectable()
export class DepositChecks {
  private readonly due: DueRows<DueDeposit>;

  constructor(
    private readonly provider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly following: PaymentFollowing,
    work: Work,
  ) {
    this.due = work.due<DueDeposit>({
      name: 'check-deposits',
      lookEveryMs: LOOK_EVERY_MS,
      atOnce: AT_ONCE,
      waiting: `SELECT count(*)::integer AS count, min(next_check_at) AS oldest
                  FROM deposits WHERE next_check_at <= now()`,
      claim: async (room) => {
        const rows = await this.records.claimDue(this.provider.name, room);
        return { rows, isMore: rows.length === room };
      },
      carryOut: (deposit) => this.check(deposit),
    });
  }

  wake(): void {
    this.due.wake();
  }

  private async check(deposit: DueDeposit): Promise<void> {
    try {
      if (deposit.paymentId !== null) await this.following.read(deposit.paymentId);
      else if (deposit.ageSeconds < CREATED_FOR_SECONDS) await this.following.create(deposit);
      else await this.records.expireUnseen(deposit.depositId);
    } catch (error) {
      // It is counted where it was called, and the next check has its moment already.
      if (!(error instanceof PaymentError)) throw error;
    }
  }
}
