import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../common';
import { OrderQueries } from './order-queries';

/** How often it is looked what has become of the orders that are waited for, all of them in one statement. */
const LOOK_INTERVAL_MS = 1000;

/**
 * Requests that wait until an order is closed, by whomever: this process, another replica, or staff. Orders
 * that this process has settled, or heard to be settled, are looked at once, and all of them each second.
 */
@Injectable()
export class OrderWaits {
  private readonly logger = new Logger(OrderWaits.name);
  private readonly waiting = new Map<number, Set<() => void>>();
  private looking: NodeJS.Timeout | undefined;
  private isEnded = false;

  constructor(private readonly queries: OrderQueries) {}

  /** How many requests wait. */
  count(): number {
    return [...this.waiting.values()].reduce((count, waits) => count + waits.size, 0);
  }

  /**
   * Resolves when the order is closed, when the time is over, or when the service ends, whichever comes
   * first. Never rejects.
   *
   * @param hungUp ends the wait, too
   */
  untilClosed(orderId: number, timeoutMs: number, hungUp: AbortSignal): Promise<void> {
    if (this.isEnded || hungUp.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const waits = this.waiting.get(orderId) ?? new Set();
      const end = (): void => {
        clearTimeout(timer);
        hungUp.removeEventListener('abort', end);
        waits.delete(end);
        if (waits.size === 0 && this.waiting.get(orderId) === waits) this.waiting.delete(orderId);
        if (this.waiting.size === 0) this.stopLooking();
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      hungUp.addEventListener('abort', end);
      waits.add(end);
      this.waiting.set(orderId, waits);
      this.looking ??= setInterval(() => void this.lookAtAll(), LOOK_INTERVAL_MS);
    });
  }

  /** Looks which of all orders that anybody waits for are closed. Never rejects. */
  lookAtAll(): Promise<void> {
    return this.look(this.waiting.keys());
  }

  /** Looks which of the orders are closed, as far as anybody waits for them. Never rejects. */
  async look(orderIds: Iterable<number>): Promise<void> {
    const awaited = [...orderIds].filter((id) => this.waiting.has(id));
    if (awaited.length === 0) return;
    try {
      for (const id of await this.queries.closedAmong(awaited)) this.endWaitsFor(id);
    } catch (error) {
      this.logger.warn(`what became of orders could not be read: ${messageOf(error)}`);
    }
  }

  /** Ends all waits, and lets no more begin. */
  end(): void {
    this.isEnded = true;
    for (const id of this.waiting.keys()) this.endWaitsFor(id);
  }

  private endWaitsFor(orderId: number): void {
    for (const end of this.waiting.get(orderId) ?? []) end();
  }

  private stopLooking(): void {
    clearInterval(this.looking);
    this.looking = undefined;
  }
}
