import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { Hints, mayHaveCommitted } from '../../database';
import { Metrics } from '../../metrics';
import { Deadline, ProviderError, ProxyProvider, type RatePermit } from '../../provider';
import { beginSpan, inSharedSpan, type OpenSpan, type Origin, origin } from '../../tracing';
import { LONGEST_CHECK_MS } from '../longest-order';
import { memberIds, nameOf, type OrderBatch } from '../order-batch';
import { type OrderOutcome, OrderQueries } from '../order-queries';
import { OrderWaits } from '../order-waits';
import { HoldReleases } from '../transitions/hold-releases';
import { OrderClaims } from '../transitions/order-claims';
import { BatchCallService, type CallPermission } from './batch-call.service';

/** A request of this process that waits for the outcome of its order. */
interface PendingRequest {
  readonly waitUntil: Deadline;
  /**
   * `queued`: nothing is sent yet. `sent`: in a call of this process. `sent-elsewhere`: in a call of another
   * replica.
   */
  status: 'queued' | 'sent' | 'sent-elsewhere';
  /** The request itself. */
  readonly origin: Origin;
  /** The wait in the queue, while it lasts. */
  queueSpan: OpenSpan | undefined;
  /** With the outcome, if it is known. */
  readonly resolve: (outcome?: OrderOutcome) => void;
}

/**
 * How often this process asks what other replicas have made of its requests' orders. As a rule their hints
 * come before that.
 */
const POLL_INTERVAL_MS = 1000;
const PAUSE_AFTER_FAILURE_MS = 50;
const PAUSE_WHEN_OTHERS_CLAIM_MS = 10;

/**
 * The queue in front of the provider. It is the table of orders, one queue for all replicas: whoever has a
 * rate permit sends the next batch. Each replica asks for permits as long as requests of its own are queued.
 * A replica that has settled orders of others' requests gives them a hint.
 */
@Injectable()
export class DispatcherService implements OnModuleDestroy {
  private readonly logger = new Logger(DispatcherService.name);
  private readonly pending = new Map<number, PendingRequest>();
  private readonly underWay = new Set<Promise<void>>();
  private isDispatching = false;
  private polling: NodeJS.Timeout | undefined;
  private readonly hints: Hints;
  /** The queue is emptied for all requests: it is no part of the one that woke it. */
  private readonly nobody = origin();

  constructor(
    @InjectDataSource() dataSource: DataSource,
    private readonly claims: OrderClaims,
    private readonly releases: HoldReleases,
    private readonly queries: OrderQueries,
    private readonly batchCall: BatchCallService,
    private readonly provider: ProxyProvider,
    private readonly waits: OrderWaits,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {
    this.hints = new Hints(
      dataSource,
      'settled_orders',
      (ids) => {
        void this.lookForOutcomes(ids);
        void this.waits.look(ids);
      },
      () => {
        void this.lookForOutcomes();
        void this.waits.lookAtAll();
      },
    );
  }

  onModuleDestroy(): void {
    this.hints.close();
  }

  /** How many requests of this process are queued. */
  countQueued(): number {
    return [...this.pending.values()].filter(({ status }) => status === 'queued').length;
  }

  /**
   * Waits until a reserved order has an outcome, as far as one is to be had now. After PURCHASE_WAIT_MS in
   * the queue the order is refunded. Never rejects.
   *
   * @returns undefined when the order is to be read to know its outcome
   */
  awaitOutcome(orderId: number): Promise<OrderOutcome | undefined> {
    const { provider, purchases } = this.config;
    return new Promise((done) => {
      const timers = [
        setTimeout(() => void this.leaveQueue(orderId, 'busy'), purchases.waitMs),
        setTimeout(() => this.answer(orderId), purchases.waitMs + provider.timeoutMs + LONGEST_CHECK_MS),
      ];
      this.pending.set(orderId, {
        waitUntil: Deadline.after(purchases.waitMs),
        status: 'queued',
        origin: origin(),
        queueSpan: beginQueueSpan(orderId),
        resolve: (outcome) => {
          for (const timer of timers) clearTimeout(timer);
          done(outcome);
        },
      });
      this.wake();
    });
  }

  /** Waits until no call is under way. */
  async untilIdle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private wake(): void {
    if (!this.isDispatching) this.nobody.run(() => void this.dispatch());
    this.polling ??= this.nobody.run(() => setInterval(() => this.poll(), POLL_INTERVAL_MS));
    this.hints.listen();
  }

  /** Never rejects. */
  private async dispatch(): Promise<void> {
    this.isDispatching = true;
    while (this.countQueued() > 0) {
      try {
        this.provider.assertTakesOrders();
        const permit = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
        await this.sendNextBatch(permit);
      } catch (error) {
        if (error instanceof ProviderError) {
          // There was no permit in time, or there will be none. Requests that have waited long enough leave
          // by their own timers.
          await this.emptyQueueIfClosed();
        } else {
          this.logger.error(`the next batch was not sent: ${messageOf(error)}`);
        }
        await pause(PAUSE_AFTER_FAILURE_MS);
      }
    }
    this.isDispatching = false;
  }

  private async sendNextBatch(permit: RatePermit): Promise<void> {
    // It counts from before the claim, so that it ends no later than the deadline that the database stores.
    const deadline = Deadline.after(this.config.provider.timeoutMs);
    const claim = randomUUID();
    let batch: OrderBatch | null;
    try {
      batch = await this.claims.claimNextBatch(claim, this.provider.spendable());
    } catch (error) {
      await permit.giveBack();
      if (mayHaveCommitted(error)) this.track(this.undoClaim(claim, error));
      throw error;
    }
    if (!batch) {
      await permit.giveBack();
      await this.lookForOutcomes();
      // What is still queued is being claimed by another replica at this very moment.
      await pause(PAUSE_WHEN_OTHERS_CLAIM_MS);
      return;
    }
    for (const id of memberIds(batch)) this.setStatus(id, 'sent');
    if (!batch.resent) this.observeWaits(batch);
    // Only a batch of one may cost more than is known to be there.
    if (batch.members.length === 1 && !(await this.provider.affords(batch.providerPrice))) {
      await permit.giveBack();
      this.track(this.refundUnsent(batch));
      return;
    }
    const origins = memberIds(batch).flatMap((id) => this.pending.get(id)?.origin ?? []);
    const attributes = { 'order.kind': batch.kind, 'order.ids': memberIds(batch) };
    this.track(
      inSharedSpan('orders.send', attributes, origins, this.nobody, () =>
        this.send(batch, { permit, deadline }),
      ),
    );
  }

  private observeWaits({ submittedAt, members }: OrderBatch): void {
    for (const { placedAt } of members) {
      this.metrics.observe('queue_wait_seconds', {}, (submittedAt.getTime() - placedAt.getTime()) / 1000);
    }
  }

  /** Refunds a batch that was claimed and costs more than our balance at the provider. */
  private async refundUnsent(batch: OrderBatch): Promise<void> {
    const ids = memberIds(batch);
    try {
      await this.releases.releaseHolds(ids, 'out-of-funds', ['submitting']);
    } catch (error) {
      this.logger.error(`${nameOf(batch)}: left to reconciliation: ${messageOf(error)}`);
    }
    this.tellOthers(ids);
    for (const id of ids) this.answer(id);
  }

  private async send(batch: OrderBatch, permission: CallPermission): Promise<void> {
    const ids = memberIds(batch);
    const { outcomes, mayBeQueued } = await this.batchCall.callAndSettle(batch, permission);
    this.tellOthers(ids);
    for (const outcome of outcomes) this.answer(outcome.id, outcome);
    if (mayBeQueued) await this.answerUnlessQueued(ids);
    else for (const id of ids) this.answer(id);
  }

  /** Requests that are not pending here may be pending at another replica, or wait for the order only. */
  private tellOthers(orderIds: readonly number[]): void {
    void this.waits.look(orderIds);
    this.hints.send(orderIds.filter((id) => !this.pending.has(id)));
  }

  private track(work: Promise<void>): void {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  /** Nothing is ever sent for a claim whose reply was lost. */
  private async undoClaim(claim: string, error: unknown): Promise<void> {
    try {
      const ids = await this.claims.undoClaim(claim, error);
      this.tellOthers(ids);
      for (const id of ids) this.answer(id);
    } catch (trouble) {
      this.logger.warn(`a claim without a reply is left to reconciliation: ${messageOf(trouble)}`);
    }
  }

  /** Members of a refused batch that go once more are queued again; all others have an outcome. */
  private async answerUnlessQueued(orderIds: readonly number[]): Promise<void> {
    const outcomes = await this.readOutcomes(orderIds.filter((id) => this.pending.has(id)));
    for (const id of orderIds) {
      if (outcomes.get(id)?.state === 'reserved') this.queueAgain(id);
      else this.answer(id, outcomes.get(id));
    }
  }

  private queueAgain(orderId: number): void {
    this.setStatus(orderId, 'queued');
    if (this.pending.get(orderId)?.waitUntil.hasPassed()) void this.leaveQueue(orderId, 'busy');
    else this.wake();
  }

  /** A hint may be lost. */
  private poll(): void {
    this.hints.listen();
    void this.lookForOutcomes();
  }

  /** Looks what other replicas have made of orders that this process awaits and has not sent itself. */
  private async lookForOutcomes(orderIds: Iterable<number> = this.pending.keys()): Promise<void> {
    const mayHaveChanged = (id: number): boolean => (this.pending.get(id)?.status ?? 'sent') !== 'sent';
    for (const [id, outcome] of await this.readOutcomes([...orderIds].filter(mayHaveChanged))) {
      if (!mayHaveChanged(id)) continue;
      const status = this.pending.get(id)?.status;
      if (outcome.state === 'submitting') this.setStatus(id, 'sent-elsewhere');
      else if (outcome.state !== 'reserved') this.answer(id, outcome);
      else if (status === 'sent-elsewhere') this.queueAgain(id);
    }
  }

  private async readOutcomes(orderIds: readonly number[]): Promise<ReadonlyMap<number, OrderOutcome>> {
    if (orderIds.length === 0) return new Map();
    try {
      return await this.queries.outcomesOf(orderIds);
    } catch (error) {
      this.logger.warn(`the outcomes of orders could not be read: ${messageOf(error)}`);
      return new Map();
    }
  }

  private async emptyQueueIfClosed(): Promise<void> {
    try {
      this.provider.assertTakesOrders();
    } catch {
      await Promise.all([...this.pending.keys()].map((id) => this.leaveQueue(id, 'unavailable')));
    }
  }

  /** Refunds an order that is still queued: it was never sent. */
  private async leaveQueue(orderId: number, reason: 'busy' | 'unavailable'): Promise<void> {
    if (this.pending.get(orderId)?.status !== 'queued') return;
    try {
      if (await this.releases.leaveQueue({ orderId, reason })) this.answer(orderId);
      else await this.lookForOutcomes([orderId]);
    } catch (error) {
      // Reconciliation refunds it: it was never sent.
      this.logger.error(`order ${orderId}: it could not leave the queue: ${messageOf(error)}`);
      this.answer(orderId);
    }
  }

  private setStatus(orderId: number, status: PendingRequest['status']): void {
    const request = this.pending.get(orderId);
    if (!request || request.status === status) return;
    request.status = status;
    request.queueSpan?.end();
    request.queueSpan = status === 'queued' ? request.origin.run(() => beginQueueSpan(orderId)) : undefined;
  }

  private answer(orderId: number, outcome?: OrderOutcome): void {
    const request = this.pending.get(orderId);
    this.pending.delete(orderId);
    request?.queueSpan?.end({ 'order.outcome': outcome?.failure ?? 'not-sent' });
    if (this.pending.size === 0) {
      clearInterval(this.polling);
      this.polling = undefined;
    }
    request?.resolve(outcome);
  }
}

const beginQueueSpan = (orderId: number): OpenSpan | undefined =>
  beginSpan('order.queue', { 'order.ids': [orderId] });
