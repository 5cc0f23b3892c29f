import { Injectable } from '@nestjs/common';
import { Clock } from '../../common';
import { RequestCounter } from '../../http';
import { Metrics } from '../../metrics';
import { PaymentProvider } from '../provider/payment-provider';
import { DepositRecords } from '../records/deposit-records';
import { EndedPaymentsJob } from './ended-payments.job';
import { PendingDepositsJob } from './pending-deposits.job';

/** Maximum number of ids that wait for the next lookup. Scheduled readings find the other payments. */
const MOST_WAITING = 100;
/**
 * Maximum number of readings of one payment per minute that notifications may cause. The provider sends one
 * or two. A customer's forged notifications must not use up the limit that all customers share.
 */
const READS_PER_MINUTE = 5;
/** Maximum number of payments whose readings are counted: more than can be read in a minute. */
const MAX_COUNTED = 10_000;
/** Time between lookups. All notifications since the last lookup share the next one. */
const LOOK_AFTER_MS = 100;
/** Delay of the first lookup after a pause. */
const LOOK_AT_ONCE_MS = 5;

/**
 * Receives notifications from any sender. They are unsigned and prove nothing. Therefore only the payment's
 * id is used, and the payment is read from the provider. At most ten lookups per second limit the cost of
 * unknown ids.
 */
@Injectable()
export class PaymentNotifications {
  private waiting = new Set<string>();
  private looking: NodeJS.Timeout | undefined;
  private lookedAtMs = -Infinity;
  /** Counts the readings of our payments. Unknown ids are not counted, so they evict no payment. */
  private readonly reads = new RequestCounter<string>('payment', READS_PER_MINUTE, MAX_COUNTED);

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly pendingDeposits: PendingDepositsJob,
    private readonly ended: EndedPaymentsJob,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /** @param body not validated */
  hear(body: unknown): void {
    const id = this.paymentProvider.notifiedPayment(body);
    if (id === null || this.waiting.size >= MOST_WAITING || this.reads.left(id, this.nowMs()) === 0) {
      return this.count('ignored');
    }
    this.waiting.add(id);
    const sinceMs = performance.now() - this.lookedAtMs;
    this.looking ??= setTimeout(
      () => void this.look(),
      sinceMs > LOOK_AFTER_MS ? LOOK_AT_ONCE_MS : LOOK_AFTER_MS,
    );
  }

  private async look(): Promise<void> {
    const ids = [...this.waiting];
    this.waiting = new Set();
    this.looking = undefined;
    this.lookedAtMs = performance.now();
    try {
      const pending = await this.records.bringForward(this.paymentProvider.name, ids);
      const ended = await this.records.endedAmong(this.paymentProvider.name, ids);
      this.ended.readSoon(ended);
      const known = [...pending, ...ended];
      for (const id of known) this.reads.add(id, this.nowMs());
      this.count('known', known.length);
      this.count('unknown', ids.length - known.length);
      if (pending.length > 0) this.pendingDeposits.wake();
    } catch {
      // Notifications are dropped while the database fails. Pending deposits are read regularly anyway.
      this.count('ignored', ids.length);
    }
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }

  private count(outcome: 'known' | 'unknown' | 'ignored', times = 1): void {
    this.metrics.count('payment_notifications_total', { outcome }, times);
  }
}
