import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { ProxyProvider } from '../../provider';
import { beginSpan, type OpenSpan, type Origin, captureOrigin } from '../../tracing';
import { longestOrderMs } from '../longest-order';
import { memberIds, type OrderBatch } from '../order-batch';
import type { OrderOutcome, OrderProgress } from '../order-outcome';
import { OrderQueries } from '../order-queries';
import type { OrderKind } from '../order-states';
import { OrderCancellations } from '../transitions/order-cancellations';

interface WaitingRequest {
  readonly kind: OrderKind;
  readonly origin: Origin;
  isQueued: boolean;
  /** Whether the order was sent a second time, or is queued to be. */
  isResent: boolean;
  /** Whether the order's time in the queue had expired at the last check. */
  isLate: boolean;
  timer: NodeJS.Timeout | undefined;
  queueSpan: OpenSpan | undefined;
  readonly end: (order?: OrderProgress) => void;
}

/** This process's requests whose orders are queued or in progress on any replica. */
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

  countQueued(): number {
    return [...this.requests.values()].filter(({ isQueued }) => isQueued).length;
  }

  isAnyQueued(ofKind: OrderKind): boolean {
    return [...this.requests.values()].some(({ kind, isQueued }) => isQueued && kind === ofKind);
  }

  origins(orderIds: readonly number[]): Origin[] {
    return orderIds.flatMap((id) => this.requests.get(id)?.origin ?? []);
  }

  /** Never rejects. @returns undefined if the outcome must be read from the database */
  untilOutcome(orderId: number, kind: OrderKind): Promise<OrderOutcome | undefined> {
    return new Promise((resolve) => {
      const request: WaitingRequest = {
        kind,
        origin: captureOrigin(),
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

  recordSent(orderIds: readonly number[]): void {
    for (const id of orderIds) {
      const request = this.requests.get(id);
      if (request) this.leftQueue(request);
    }
  }

  async recordCanceled(orderIds: readonly number[]): Promise<void> {
    await this.recordChanged(orderIds);
    for (const id of orderIds) this.requests.get(id)?.end();
  }

  /**
   * Ends the waits for a batch's orders after the batch's call. Orders without an outcome are left to
   * reconciliation. If the call was refused, requests whose orders will be sent again keep waiting.
   * @param outcomes outcomes that are already known, so that no query is needed
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

  /** Cancels this process's queued orders if the provider is not currently accepting orders. */
  async emptyQueueIfClosed(): Promise<void> {
    try {
      this.provider.assertTakesOrders();
    } catch {
      const queued = [...this.requests].filter(([, { isQueued }]) => isQueued);
      await Promise.all(queued.map(([id]) => this.leaveQueue(id, 'unavailable')));
    }
  }

  /** An order has one waiting request, so other replicas are notified only about orders not awaited here. */
  private recordChanged(orderIds: readonly number[], outcomes: readonly OrderOutcome[] = []): Promise<void> {
    const elsewhere = orderIds.filter((id) => !this.requests.has(id));
    return this.queries.awaited.changed(orderIds, outcomes, elsewhere);
  }

  private see(request: WaitingRequest, order: OrderProgress): void {
    const { id, state, leftMs, resent = false, isInFirstSearch } = order;
    request.isResent ||= resent;
    if (state === 'submitting') this.leftQueue(request);
    else if (state !== 'reserved' && !isInFirstSearch) request.end(order);
    if (state !== 'reserved') return;
    request.isQueued = true;
    if (!request.isLate) return;
    // A resent order gets no additional time.
    if (leftMs && leftMs > 0 && !request.isResent) this.waitInQueue(id, request, leftMs);
    else void this.leaveQueue(id, 'busy');
  }

  /** Checks the order again after `waitMs`, because reading the rental's expiry may extend the time limit. */
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
      // Reconciliation will cancel the order, because it was never sent.
      this.logger.error(`order ${orderId} could not leave the queue: ${messageOf(error)}`);
      this.requests.get(orderId)?.end();
    }
  }
}
