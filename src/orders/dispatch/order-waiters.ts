import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { ProxyProvider } from '../../provider';
import { beginSpan, type OpenSpan, type Origin, origin } from '../../tracing';
import { longestOrderMs } from '../longest-order';
import { memberIds, type OrderBatch } from '../order-batch';
import type { OrderOutcome, OrderProgress } from '../order-outcome';
import { OrderQueries } from '../order-queries';
import type { OrderKind } from '../order-states';
import { OrderCancellations } from '../transitions/order-cancellations';

/** A request of this process that waits for the outcome of its order. */
interface WaitingRequest {
  readonly kind: OrderKind;
  readonly origin: Origin;
  /** Whether its order is in the queue, as last known. */
  isQueued: boolean;
  /** Whether its order was sent a second time, or is queued for it. */
  isResent: boolean;
  /** Whether its order has been in the queue for longer than allowed, as last known. */
  isLate: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Set during the wait in the queue. */
  queueSpan: OpenSpan | undefined;
  /** Ends the wait. */
  readonly end: (order?: OrderProgress) => void;
}

/** The requests of this process whose orders are queued or under way on any replica. */
@Injectable()
export class OrderWaiters {
  private readonly logger = new Logger(OrderWaiters.name);
  private readonly requests = new Map<number, WaitingRequest>();

  constructor(
    private readonly queries: OrderQueries,
    private readonly cancellations: OrderCancellations,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
  ) {}

  /** The number of orders that wait for their call, or for the listing before it. */
  countQueued(): number {
    return [...this.requests.values()].filter(({ isQueued }) => isQueued).length;
  }

  isAnyQueued(ofKind: OrderKind): boolean {
    return [...this.requests.values()].some(({ kind, isQueued }) => isQueued && kind === ofKind);
  }

  /** The requests of this process that wait for these orders. */
  origins(orderIds: readonly number[]): Origin[] {
    return orderIds.flatMap((id) => this.requests.get(id)?.origin ?? []);
  }

  /**
   * Waits until a reserved order has an outcome, or until none can be expected now. At the deadline of its
   * row, an order leaves the queue: after PURCHASE_WAIT_MS for its call, and before it for a listing. Never
   * rejects.
   *
   * @returns undefined when the outcome must be read from the order
   */
  untilOutcome(orderId: number, kind: OrderKind): Promise<OrderOutcome | undefined> {
    return new Promise((resolve) => {
      const request: WaitingRequest = {
        kind,
        origin: origin(),
        isQueued: true,
        isResent: false,
        isLate: false,
        timer: undefined,
        queueSpan: beginSpan('order.queue', { 'order.ids': [orderId] }),
        end: (outcome) => {
          clearTimeout(longest);
          clearTimeout(request.timer);
          this.requests.delete(orderId);
          wait.close();
          request.queueSpan?.end({ 'order.outcome': outcome?.failure ?? 'not-sent' });
          resolve(outcome);
        },
      };
      const longest = setTimeout(() => request.end(), longestOrderMs(this.config, kind));
      this.requests.set(orderId, request);
      const wait = this.queries.awaited.open(orderId, (order) => this.see(request, order));
      this.waitInQueue(orderId, request, this.config.purchases.waitMs);
    });
  }

  /** Records that this process has claimed their batch. */
  recordSent(orderIds: readonly number[]): void {
    for (const id of orderIds) {
      const request = this.requests.get(id);
      if (request) this.leftQueue(request);
    }
  }

  /** Records that this process has canceled their queued orders. */
  async recordCanceled(orderIds: readonly number[]): Promise<void> {
    await this.recordChanged(orderIds);
    for (const id of orderIds) this.requests.get(id)?.end();
  }

  /**
   * The call of a batch is over. Requests without an outcome end without one: reconciliation takes over their
   * orders. Members of a refused batch that are sent once more keep waiting, also if any replica has begun
   * their second call already.
   *
   * @param outcomes those that are known without a query
   */
  async recordCallOver(batch: OrderBatch, outcomes: readonly OrderOutcome[] = []): Promise<void> {
    const orderIds = memberIds(batch);
    await this.recordChanged(orderIds, outcomes);
    for (const id of orderIds) {
      const request = this.requests.get(id);
      const isInSecondCall = request?.isResent && !batch.resent;
      if (request && !request.isQueued && !isInSecondCall) request.end();
    }
  }

  /** While the provider accepts no orders, those queued here are canceled, so that no request waits. */
  async emptyQueueIfClosed(): Promise<void> {
    try {
      this.provider.assertTakesOrders();
    } catch {
      const queued = [...this.requests].filter(([, { isQueued }]) => isQueued);
      await Promise.all(queued.map(([id]) => this.leaveQueue(id, 'unavailable')));
    }
  }

  /** Each order has one waiting request, on one replica. */
  private recordChanged(orderIds: readonly number[], outcomes: readonly OrderOutcome[] = []): Promise<void> {
    const elsewhere = orderIds.filter((id) => !this.requests.has(id));
    return this.queries.awaited.changed(orderIds, outcomes, elsewhere);
  }

  private see(request: WaitingRequest, order: OrderProgress): void {
    const { id, state, leftMs, resent = false } = order;
    request.isResent ||= resent;
    if (state === 'submitting') this.leftQueue(request);
    else if (state !== 'reserved') request.end(order);
    if (state !== 'reserved') return;
    request.isQueued = true;
    if (!request.isLate) return;
    // A second call gets no additional time.
    if (leftMs && leftMs > 0 && !request.isResent) this.waitInQueue(id, request, leftMs);
    else void this.leaveQueue(id, 'busy');
  }

  /** The deadline of the row may move meanwhile, when the end of the rental is read. */
  private waitInQueue(orderId: number, request: WaitingRequest, waitMs: number): void {
    request.isLate = false;
    request.timer = setTimeout(() => {
      request.isLate = true;
      if (request.isQueued) void this.queries.awaited.look([orderId]);
    }, waitMs);
  }

  private leftQueue(request: WaitingRequest): void {
    request.isQueued = false;
    request.queueSpan?.end();
    request.queueSpan = undefined;
  }

  private async leaveQueue(orderId: number, reason: 'busy' | 'unavailable'): Promise<void> {
    try {
      if (await this.cancellations.leaveQueue({ orderId, reason })) this.requests.get(orderId)?.end();
      else await this.queries.awaited.look([orderId]);
    } catch (error) {
      // Reconciliation cancels it, because it was never sent.
      this.logger.error(`order ${orderId}: it could not leave the queue: ${messageOf(error)}`);
      this.requests.get(orderId)?.end();
    }
  }
}
