import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { mayHaveCommitted } from '../../database';
import { type Claimed, type DueRows, Jobs } from '../../jobs';
import { Metrics } from '../../metrics';
import { Deadline, ProviderError, ProxyProvider, type RatePermit } from '../../provider';
import { inSharedSpan, captureOrigin } from '../../tracing';
import { memberIds, batchName, type OrderBatch } from '../order-batch';
import { IN_QUEUE_SQL, WAITING_ORDERS } from '../order-queue';
import type { OrderKind } from '../order-states';
import { OrderCancellations } from '../transitions/order-cancellations';
import { type ClaimedBatch, OrderClaims } from '../transitions/order-claims';
import { BatchCallService, type CallPermission } from './batch-call.service';
import { EndReader } from './end-reader';
import { OrderWaiters } from './order-waiters';

/** How often a replica checks for queued orders that other replicas have not sent. */
const LOOK_EVERY_MS = 1000;
const PAUSE_AFTER_FAILURE_MS = 50;
const PAUSE_WHEN_OTHERS_CLAIM_MS = 10;

type ClaimedCall = () => Promise<void>;

const NOTHING: Claimed<ClaimedCall> = { rows: [], isMore: false };

/**
 * Sends queued orders to the provider. Whichever replica gets a rate permit sends the next batch, wherever
 * its orders were placed. A claim requires a permit. Unlike a lease, a claim never expires, because a claimed
 * order counts as possibly bought.
 */
@Injectable()
export class DispatcherService {
  private readonly logger = new Logger(DispatcherService.name);
  private readonly calls: DueRows<ClaimedCall>;
  private readonly background = captureOrigin();
  private isStopping = false;
  /** Whether prolongations may be waiting for a listing that shows their rentals' expiries. */
  private mayBeUnread = true;
  private wasListed = false;

  constructor(
    private readonly claims: OrderClaims,
    private readonly cancellations: OrderCancellations,
    private readonly waiters: OrderWaiters,
    private readonly ends: EndReader,
    private readonly batchCall: BatchCallService,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
    jobs: Jobs,
  ) {
    this.calls = jobs.due<ClaimedCall>({
      name: 'dispatch-orders',
      lookEveryMs: LOOK_EVERY_MS,
      waiting: WAITING_ORDERS,
      isDue: () => `EXISTS (SELECT FROM orders WHERE ${IN_QUEUE_SQL})`,
      // The provider's rate limit is the only limit on concurrent calls.
      atOnce: Infinity,
      claim: () => this.claimNext(),
      execute: (call) => call(),
    });
  }

  wake(kind: OrderKind): void {
    this.mayBeUnread ||= kind === 'prolongation';
    this.calls.wake();
  }

  /** From now on, sends orders only while any of this process's own requests are queued. */
  stop(): void {
    this.isStopping = true;
  }

  untilIdle(): Promise<void> {
    return this.calls.untilIdle();
  }

  private async claimNext(): Promise<Claimed<ClaimedCall>> {
    const step = await this.nextStep();
    if (!step) return NOTHING;
    try {
      this.provider.assertTakesOrders();
      const permit = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
      this.wasListed = step === 'listing';
      return this.wasListed
        ? await this.ends.claim(permit, () => this.calls.wake())
        : await this.claimBatch(permit);
    } catch (error) {
      if (error instanceof ProviderError) {
        // Without a permit, orders stay queued until their own timers fire. If the provider accepts no
        // orders, cancel them now instead.
        await this.waiters.emptyQueueIfClosed();
      } else {
        this.logger.error(`the next batch was not sent: ${messageOf(error)}`);
      }
      await pause(PAUSE_AFTER_FAILURE_MS);
      return { rows: [], isMore: this.waiters.countQueued() > 0 };
    }
  }

  /** Returns what the next permit is for; null if no permit is needed. Calls and listings alternate. */
  private async nextStep(): Promise<'call' | 'listing' | null> {
    if (this.isStopping && this.waiters.countQueued() === 0) return null;
    const hasPurchase = this.waiters.isAnyQueued('purchase');
    if (hasPurchase && !this.mayBeUnread) return 'call';
    const { hasReady, hasUnread } = await this.claims.readQueue();
    this.mayBeUnread = hasUnread;
    if (hasUnread && !this.wasListed) return 'listing';
    if (hasPurchase || hasReady) return 'call';
    return hasUnread ? 'listing' : null;
  }

  private async claimBatch(permit: RatePermit): Promise<Claimed<ClaimedCall>> {
    // Set the deadline before claiming, so that it expires no later than `sent_before`.
    const deadline = Deadline.after(this.config.provider.timeoutMs);
    const claim = randomUUID();
    let batch: ClaimedBatch | null;
    try {
      batch = await this.claims.claimNextBatch(claim, this.provider.spendable());
    } catch (error) {
      await permit.giveBack();
      if (!mayHaveCommitted(error)) throw error;
      this.logger.error(`the next batch was not sent: ${messageOf(error)}`);
      return { rows: [() => this.undoClaim(claim, error)], isMore: this.waiters.countQueued() > 0 };
    }
    if (!batch) {
      await permit.giveBack();
      // Another replica is claiming the remaining orders.
      await pause(PAUSE_WHEN_OTHERS_CLAIM_MS);
      return { rows: [], isMore: (await this.claims.readQueue()).hasReady };
    }
    this.waiters.recordSent(memberIds(batch));
    if (!batch.resent) this.observeWaits(batch);
    this.mayBeUnread ||= batch.leavesUnread;
    const isMore = batch.leavesOthers || this.mayBeUnread;
    return { rows: [await this.toCall(batch, { permit, deadline })], isMore };
  }

  private async toCall(batch: ClaimedBatch, permission: CallPermission): Promise<ClaimedCall> {
    // A batch of several orders never exceeds the known balance. A single order may, because the first order
    // is claimed regardless of its cost.
    const isAfforded = batch.members.length > 1 || (await this.provider.affords(batch.providerPrice));
    if (isAfforded) return () => this.send(batch, permission);
    await permission.permit.giveBack();
    return () => this.cancelUnsent(batch);
  }

  private observeWaits({ submittedAt, members }: OrderBatch): void {
    for (const { placedAt, isRenewal } of members) {
      // Renewals are skipped, because no request waits for them.
      if (isRenewal) continue;
      this.metrics.observe('queue_wait_seconds', {}, (submittedAt.getTime() - placedAt.getTime()) / 1000);
    }
  }

  private async cancelUnsent(batch: OrderBatch): Promise<void> {
    const ids = memberIds(batch);
    try {
      await this.cancellations.cancelOrders(ids, 'out-of-funds', ['submitting']);
    } catch (error) {
      this.logger.error(`${batchName(batch)}: left to reconciliation: ${messageOf(error)}`);
    }
    await this.waiters.recordCallOver(batch);
  }

  private send(batch: OrderBatch, permission: CallPermission): Promise<void> {
    const ids = memberIds(batch);
    const attributes = { 'order.kind': batch.kind, 'order.ids': ids };
    const work = async (): Promise<void> => {
      const { outcomes, mayBeQueued } = await this.batchCall.callAndSettle(batch, permission);
      await this.waiters.recordCallOver(batch, outcomes);
      if (mayBeQueued) this.calls.wake();
    };
    return inSharedSpan('orders.send', attributes, this.waiters.origins(ids), this.background, work);
  }

  /** Cancels the orders of a claim whose reply was lost, so that they are never sent. */
  private async undoClaim(claim: string, error: unknown): Promise<void> {
    try {
      await this.waiters.recordCanceled(await this.claims.undoClaim(claim, error));
    } catch (trouble) {
      this.logger.warn(`a claim without a reply is left to reconciliation: ${messageOf(trouble)}`);
    }
  }
}
