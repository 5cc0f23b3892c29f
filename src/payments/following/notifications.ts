import { Injectable } from '@nestjs/common';
import { Clock } from '../../common';
import { RequestCounter } from '../../http';
import { Metrics } from '../../metrics';
import { PaymentProvider } from '../provider/payment-provider';
import { DepositRecords } from '../records/deposit-records';
import { DepositReadings } from './deposit-readings';
import { EndedPaymentsJob } from './ended-payments.job';

const PAYMENT_ID = /^[\w-]{1,64}$/;
/** How many ids may wait for the next lookup. Due readings find the rest. */
const MOST_WAITING = 100;
/**
 * How many notifications of a minute have a payment read. The provider sends one or two; a customer who
 * repeats them for all pending deposits would take the provider from others, whose calls share its limit.
 */
const READS_PER_MINUTE = 5;
/** More payments than can be read in a minute. */
const MAX_COUNTED = 10_000;
/** Notifications share lookups, of which there are at most ten a second. */
const LOOK_AFTER_MS = 100;
/** The first one after a pause does not wait. */
const LOOK_AT_ONCE_MS = 5;

/**
 * Receives notifications from any sender: they are not signed, and prove nothing. Only the payment's id is
 * used, and its state is read from the provider. All ids share at most ten lookups a second, so that
 * unknown ones cost as much as they may.
 */
@Injectable()
export class Notifications {
  private waiting = new Set<string>();
  private looking: NodeJS.Timeout | undefined;
  private lookedAtMs = -Infinity;
  /** Of our payments only, so that unknown ids displace none. */
  private readonly reads = new RequestCounter<string>('payment', READS_PER_MINUTE, MAX_COUNTED);

  constructor(
    private readonly provider: PaymentProvider,
    private readonly records: DepositRecords,
    private readonly readings: DepositReadings,
    private readonly ended: EndedPaymentsJob,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /** @param body not validated */
  hear(body: unknown): void {
    const id = paymentIdOf(body);
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
      const pending = await this.records.bringForward(this.provider.name, ids);
      const ended = await this.records.endedAmong(this.provider.name, ids);
      this.ended.readSoon(ended);
      const known = [...pending, ...ended];
      for (const id of known) this.reads.add(id, this.nowMs());
      this.count('known', known.length);
      this.count('unknown', ids.length - known.length);
      if (pending.length > 0) this.readings.wake();
    } catch {
      // Without its database the service drops them: every pending deposit is read regularly.
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

/** The id of the payment in a notification, which may be about its refund. */
function paymentIdOf(body: unknown): string | null {
  const object = isObject(body) ? body['object'] : undefined;
  if (!isObject(object)) return null;
  const id = object['payment_id'] ?? object['id'];
  return typeof id === 'string' && PAYMENT_ID.test(id) ? id : null;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
