import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { ProxyProvider } from '../../provider';
import { beginSpan, type OpenSpan, type Origin, origin } from '../../tracing';
import { longestOrderMs } from '../longest-order';
import type { OrderOutcome, OrderProgress } from '../order-outcome';
import type { QueueStep } from '../order-queue';
import type { OrderKind } from '../order-states';
import { type OrderWait, OrderWaits } from '../order-waits';
import { HoldReleases } from '../transitions/hold-releases';

/** A request of this process that waits for the outcome of its order. */
interface OrderRequest extends OrderWait {
  readonly origin: Origin;
  /** Where its order stands in the queue, as far as is known here; null: it was sent. */
  step: QueueStep | null;
  /** Whether it has stood there for longer than it may. */
  isLate: boolean;
  timer: NodeJS.Timeout | undefined;
  /** The wait in the queue, while it lasts. */
  queueSpan: OpenSpan | undefined;
}

/** The requests of this process whose orders are queued or under way, whichever replica sends them. */
@Injectable()
export class OrderRequests {
  private readonly logger = new Logger(OrderRequests.name);
  private readonly requests = new Map<number, OrderRequest>();

  constructor(
    private readonly waits: OrderWaits,
    private readonly releases: HoldReleases,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
  ) {}

  /** How many are queued, or wait for the listing before that. */
  countQueued(): number {
    return [...this.requests.values()].filter(({ step }) => step !== null).length;
  }

  /** Whether one of their orders stands there. */
  isAny(atStep: QueueStep): boolean {
    return [...this.requests.values()].some(({ step }) => step === atStep);
  }

  /** The requests of these orders, as far as they wait here. */
  origins(orderIds: readonly number[]): Origin[] {
    return orderIds.flatMap((id) => this.requests.get(id)?.origin ?? []);
  }

  /**
   * Waits until a reserved order has an outcome, as far as one is to be had now. An order that waits for
   * longer than PURCHASE_WAIT_MS for its call leaves the queue, and so does a prolongation that waits for as
   * long for the listing before it. Never rejects.
   *
   * @returns undefined when the order is to be read to know its outcome
   */
  untilOutcome(orderId: number, kind: OrderKind): Promise<OrderOutcome | undefined> {
    const step = kind === 'purchase' ? 'queued' : 'unread';
    return new Promise((resolve) => {
      const request: OrderRequest = {
        origin: origin(),
        step,
        isLate: false,
        timer: undefined,
        queueSpan: beginQueueSpan(orderId),
        see: (order) => this.see(request, order),
        end: (outcome) => {
          clearTimeout(longest);
          clearTimeout(request.timer);
          this.requests.delete(orderId);
          this.waits.end(orderId, request);
          request.queueSpan?.end({ 'order.outcome': outcome?.failure ?? 'not-sent' });
          resolve(outcome);
        },
      };
      const longest = setTimeout(() => request.end(), longestOrderMs(this.config, kind));
      this.requests.set(orderId, request);
      this.waits.begin(orderId, request);
      this.beginStep(orderId, request, step);
    });
  }

  /** This process has moved their orders on in the queue. */
  noteStep(orderIds: readonly number[], step: QueueStep): void {
    for (const id of orderIds) {
      const request = this.requests.get(id);
      if (request) this.beginStep(id, request, step);
    }
  }

  /** This process has claimed their batch. */
  noteSent(orderIds: readonly number[]): void {
    for (const id of orderIds) {
      const request = this.requests.get(id);
      if (request) this.endStep(request);
    }
  }

  /** This process has refunded their orders, which were queued. */
  noteRefunded(orderIds: readonly number[]): void {
    this.waits.tellOthers(orderIds.filter((id) => !this.requests.has(id)));
    for (const id of orderIds) this.requests.get(id)?.end();
  }

  /**
   * The call for these orders is over. Requests without an outcome end without one: their orders are left to
   * reconciliation. Members of a refused batch that go once more wait on. Requests that wait elsewhere get a
   * hint.
   *
   * @param outcomes those that are known without asking the database
   */
  async noteCallOver(orderIds: readonly number[], outcomes: readonly OrderOutcome[] = []): Promise<void> {
    this.waits.tellOthers(orderIds.filter((id) => !this.requests.has(id)));
    this.waits.show(outcomes);
    await this.waits.look(orderIds);
    for (const id of orderIds) {
      const request = this.requests.get(id);
      if (request?.step === null) request.end();
    }
  }

  /** While the provider takes no orders, nobody waits for it: what is queued here is refunded. */
  async emptyQueueIfClosed(): Promise<void> {
    try {
      this.provider.assertTakesOrders();
    } catch {
      const queued = [...this.requests].filter(([, { step }]) => step !== null);
      await Promise.all(queued.map(([id]) => this.leaveQueue(id, 'unavailable')));
    }
  }

  /** @returns whether the request waits no longer */
  private see(request: OrderRequest, { id, state, step = null }: OrderProgress): boolean {
    if (state === 'submitting') this.endStep(request);
    if (state !== 'reserved') return state !== 'submitting';
    // What goes once more has no more time than it had.
    const isSentOnceMore = request.step === null;
    if (step !== null && step !== request.step && !isSentOnceMore) this.beginStep(id, request, step);
    request.step = step;
    if (request.isLate) this.leaveUnlessReading(id, request);
    return false;
  }

  private beginStep(orderId: number, request: OrderRequest, step: QueueStep): void {
    clearTimeout(request.timer);
    request.step = step;
    request.isLate = false;
    request.timer = setTimeout(() => {
      request.isLate = true;
      this.leaveUnlessReading(orderId, request);
    }, this.config.purchases.waitMs);
  }

  private endStep(request: OrderRequest): void {
    request.step = null;
    request.queueSpan?.end();
    request.queueSpan = undefined;
  }

  /** How long a listing takes is bounded by itself. */
  private leaveUnlessReading(orderId: number, { step }: OrderRequest): void {
    if (step === 'unread' || step === 'queued') void this.leaveQueue(orderId, 'busy');
  }

  private async leaveQueue(orderId: number, reason: 'busy' | 'unavailable'): Promise<void> {
    try {
      if (await this.releases.leaveQueue({ orderId, reason })) this.requests.get(orderId)?.end();
      else await this.waits.look([orderId]);
    } catch (error) {
      // Reconciliation refunds it: it was never sent.
      this.logger.error(`order ${orderId}: it could not leave the queue: ${messageOf(error)}`);
      this.requests.get(orderId)?.end();
    }
  }
}

const beginQueueSpan = (orderId: number): OpenSpan | undefined =>
  beginSpan('order.queue', { 'order.ids': [orderId] });
