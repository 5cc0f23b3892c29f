import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { Hints, RowWaits, untilEnded } from '../database';
import type { OrderProgress } from './order-outcome';
import { OrderQueries } from './order-queries';
import { isOpen } from './order-states';

export interface OrderWait {
  /** Receives the order whenever it has been read. @returns whether the wait is over */
  readonly see: (order: OrderProgress) => boolean;
  /** Ends the wait, with the order that ended it. */
  readonly end: (order?: OrderProgress) => void;
}

/**
 * All waits for orders. Orders that this process has changed, or got a hint about, are read at once, and all
 * of them each second.
 */
@Injectable()
export class OrderWaits implements OnModuleDestroy {
  private readonly logger = new Logger(OrderWaits.name);
  private readonly hints: Hints;
  private readonly waits: RowWaits<OrderWait>;
  /** Waits until an order is closed, which may take a day. */
  private readonly readers = new Set<() => void>();
  private isEnded = false;

  constructor(
    dataSource: DataSource,
    private readonly queries: OrderQueries,
  ) {
    this.hints = new Hints(dataSource, 'settled_orders');
    this.waits = new RowWaits(this.hints, {
      name: 'what became of orders',
      hear: (ids) => void this.look(ids),
      lookAtAll: () => this.showNow([...this.waits.entries()].map(([id]) => id)),
    });
  }

  onModuleDestroy(): void {
    this.hints.close();
  }

  /** The number of waits until an order is closed. */
  count(): number {
    return this.readers.size;
  }

  begin(orderId: number, wait: OrderWait): void {
    this.waits.begin(orderId, wait);
  }

  /** Forgets a wait that is over. */
  end(orderId: number, wait: OrderWait): void {
    this.waits.end(orderId, wait);
  }

  /**
   * Resolves when the order is closed, when the time is over, or when the service ends, whichever comes
   * first. Never rejects.
   *
   * @param hungUp ends the wait, too
   */
  async untilClosed(orderId: number, timeoutMs: number, hungUp: AbortSignal): Promise<void> {
    if (this.isEnded) return;
    let over = (): void => undefined;
    await untilEnded(timeoutMs, hungUp, (end) => {
      const wait: OrderWait = { see: ({ state }) => !isOpen(state), end };
      this.readers.add(end);
      this.begin(orderId, wait);
      over = () => {
        this.readers.delete(end);
        this.end(orderId, wait);
      };
    });
    over();
  }

  /** Passes orders, as a statement of this process left them, to their waits. */
  show(orders: Iterable<OrderProgress>): void {
    for (const order of orders) {
      for (const wait of this.waits.of(order.id) ?? []) if (wait.see(order)) wait.end(order);
    }
  }

  /** Reads those of the orders that have waits. Never rejects. */
  async look(orderIds: Iterable<number>): Promise<void> {
    try {
      await this.showNow([...orderIds].filter((id) => this.waits.of(id)));
    } catch (error) {
      this.logger.warn(`what became of orders could not be read: ${messageOf(error)}`);
    }
  }

  /** Sends the other replicas a hint to read these orders. */
  notifyOthers(orderIds: readonly number[]): void {
    this.hints.send(orderIds);
  }

  /** Ends the waits of readers, and allows no new ones. */
  endReading(): void {
    this.isEnded = true;
    for (const end of this.readers) end();
  }

  private async showNow(orderIds: readonly number[]): Promise<void> {
    if (orderIds.length > 0) this.show((await this.queries.outcomesOf(orderIds)).values());
  }
}
