import { Injectable } from '@nestjs/common';
import { Clock } from '../../common';
import { RequestCounter } from '../../http';
import { Metrics } from '../../metrics';
import { PaymentProvider } from '../provider/payment-provider';
import { DepositRecords } from '../records/deposit-records';
import { EndedPaymentsJob } from './ended-payments.job';
import { PendingDepositsJob } from './pending-deposits.job';

/** Maximum number of waiting payments. Notifications about others are ignored; scheduled reads cover them. */
const MOST_WAITING = 100;
/** Keeps forged notifications about one payment from using up the provider's call limit. */
const READS_PER_MINUTE = 5;
/**
 * Exceeds the number of payments that can be read in a minute. Otherwise, a payment's count could be evicted
 * before its minute is over.
 */
const MAX_COUNTED = 10_000;
/** Minimum time between database lookups. Notifications that arrive in between share the next lookup. */
const LOOK_AFTER_MS = 100;
const LOOK_AT_ONCE_MS = 5;

/**
 * Notifications are unsigned, so only the payment's id is used. The payment itself is read from the provider.
 */
@Injectable()
export class PaymentNotifications {
  private waiting = new Set<string>();
  private looking: NodeJS.Timeout | undefined;
  private lookedAtMs = -Infinity;
  /** Counts only known payments. Otherwise, forged ids could evict their counts. */
  private readonly reads = new RequestCounter<string>('payment', READS_PER_MINUTE, MAX_COUNTED);

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly pendingDeposits: PendingDepositsJob,
    private readonly ended: EndedPaymentsJob,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

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
      // Dropping notifications is safe, because pending deposits are read regularly anyway.
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
