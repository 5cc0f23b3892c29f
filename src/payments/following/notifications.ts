import { Injectable } from '@nestjs/common';
import { Metrics } from '../../metrics';
import { PaymentProvider } from '../provider/payment-provider';
import { DepositRecords } from '../records/deposit-records';
import { DepositChecks } from './deposit-checks';

const PAYMENT_ID = /^[\w-]{1,64}$/;
/** How many ids wait for the next look, at most. Those above are found by the checks that are due. */
const MOST_WAITING = 1000;
/** What arrives together is looked up together: however many come, there are ten look-ups a second. */
const LOOK_AFTER_MS = 100;
/** The first one after a quiet time does not wait. */
const LOOK_AT_ONCE_MS = 5;

/**
 * Hears of payments from anybody: notifications are not signed, and prove nothing. Of each, only the id of a
 * payment is taken. Ids that are not those of pending deposits end with one look at an index, for all that
 * came at the same time. What they prove is read from the provider.
 */
@Injectable()
export class Notifications {
  private waiting = new Set<string>();
  private looking: NodeJS.Timeout | undefined;
  private lookedAtMs = -Infinity;

  constructor(
    private readonly provider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly checks: DepositChecks,
    private readonly metrics: Metrics,
  ) {}

  /** @param body whatever was sent */
  hear(body: unknown): void {
    const id = paymentIdOf(body);
    if (id === null || this.waiting.size >= MOST_WAITING) return this.count('ignored');
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
      const known = await this.records.bringForward(this.provider.name, ids);
      this.count('known', known);
      this.count('unknown', ids.length - known);
      if (known > 0) this.checks.wake();
    } catch {
      // Without its database the service forgets them: every pending deposit is checked now and then.
      this.count('ignored', ids.length);
    }
  }

  private count(outcome: 'known' | 'unknown' | 'ignored', times = 1): void {
    this.metrics.count('payment_notifications_total', { outcome }, times);
  }
}

/** The id of the payment that a notification is about, also when it is about a refund. */
function paymentIdOf(body: unknown): string | null {
  const object = isObject(body) ? body['object'] : undefined;
  if (!isObject(object)) return null;
  const id = object['payment_id'] ?? object['id'];
  return typeof id === 'string' && PAYMENT_ID.test(id) ? id : null;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
