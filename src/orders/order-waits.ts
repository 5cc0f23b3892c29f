import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { Hints } from '../database';
import type { OrderProgress } from './order-outcome';
import { OrderQueries } from './order-queries';
import { isOpen } from './order-states';

/** How often it is looked what has become of the orders that are waited for, all of them in one statement. */
const LOOK_INTERVAL_MS = 1000;

/** Somebody who waits for an order. */
export interface OrderWait {
  /** Is shown the order whenever somebody has looked at it. @returns whether the wait is over */
  readonly see: (order: OrderProgress) => boolean;
  /** Ends the wait, with the order that ended it. */
  readonly end: (order?: OrderProgress) => void;
}

/**
 * Whoever waits for an order, whatever changes it: this process, another replica, or staff. Orders that this
 * process has changed, or heard to be changed, are looked at once, and all of them each second: a hint may be
 * lost.
 */
@Injectable()
export class OrderWaits implements OnModuleDestroy {
  private readonly logger = new Logger(OrderWaits.name);
  private readonly waiting = new Map<number, Set<OrderWait>>();
  /** Those who wait until an order is closed, which may take a day. */
  private readonly readers = new Set<() => void>();
  private readonly hints: Hints;
  private looking: NodeJS.Timeout | undefined;
  private isEnded = false;

  constructor(
    dataSource: DataSource,
    private readonly queries: OrderQueries,
  ) {
    this.hints = new Hints(
      dataSource,
      'settled_orders',
      (ids) => void this.look(ids),
      () => void this.lookAtAll(),
    );
  }

  onModuleDestroy(): void {
    this.hints.close();
  }

  /** How many wait until an order is closed. */
  count(): number {
    return this.readers.size;
  }

  begin(orderId: number, wait: OrderWait): void {
    this.waiting.set(orderId, (this.waiting.get(orderId) ?? new Set()).add(wait));
    this.looking ??= setInterval(() => void this.lookAtAll(), LOOK_INTERVAL_MS);
    this.hints.listen();
  }

  /** Forgets a wait that is over. */
  end(orderId: number, wait: OrderWait): void {
    const waits = this.waiting.get(orderId);
    waits?.delete(wait);
    if (waits?.size === 0) this.waiting.delete(orderId);
    if (this.waiting.size > 0) return;
    clearInterval(this.looking);
    this.looking = undefined;
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
      const end = (): void => {
        clearTimeout(timer);
        hungUp.removeEventListener('abort', end);
        this.readers.delete(end);
        this.end(orderId, wait);
        resolve();
      };
      const wait: OrderWait = { see: ({ state }) => !isOpen(state), end };
      const timer = setTimeout(end, timeoutMs);
      hungUp.addEventListener('abort', end);
      this.readers.add(end);
      this.begin(orderId, wait);
    });
  }

  /** Shows orders, as they are after a statement of this process, to those who wait for them. */
  show(orders: Iterable<OrderProgress>): void {
    for (const order of orders) {
      for (const wait of this.waiting.get(order.id) ?? []) if (wait.see(order)) wait.end(order);
    }
  }

  /** Looks what has become of orders, as far as anybody waits for them. Never rejects. */
  async look(orderIds: Iterable<number>): Promise<void> {
    const awaited = [...orderIds].filter((id) => this.waiting.has(id));
    if (awaited.length === 0) return;
    try {
      this.show((await this.queries.outcomesOf(awaited)).values());
    } catch (error) {
      this.logger.warn(`what became of orders could not be read: ${messageOf(error)}`);
    }
  }

  /** Has the other replicas look at orders. */
  tellOthers(orderIds: readonly number[]): void {
    this.hints.send(orderIds);
  }

  /** Ends the waits of readers, and lets no more begin. */
  endReading(): void {
    this.isEnded = true;
    for (const end of this.readers) end();
  }

  private lookAtAll(): Promise<void> {
    this.hints.listen();
    return this.look(this.waiting.keys());
  }
}
