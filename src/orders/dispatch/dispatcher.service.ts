import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { mayHaveCommitted } from '../../database';
import { Metrics } from '../../metrics';
import { Deadline, ProviderError, ProxyProvider, type RatePermit } from '../../provider';
import { inSharedSpan, origin } from '../../tracing';
import { memberIds, nameOf, type OrderBatch } from '../order-batch';
import type { OrderOutcome } from '../order-queries';
import type { OrderKind } from '../order-states';
import { HoldReleases } from '../transitions/hold-releases';
import { type ClaimedBatch, OrderClaims } from '../transitions/order-claims';
import { BatchCallService, type CallPermission } from './batch-call.service';
import { EndReader } from './end-reader';
import { OrderRequests } from './order-requests';
import { StepLoop } from './step-loop';

const PAUSE_AFTER_FAILURE_MS = 50;
const PAUSE_WHEN_OTHERS_CLAIM_MS = 10;

/**
 * The queue in front of the provider. It is the table of orders, one queue for all replicas: whoever has a
 * rate permit sends the next batch, whoever placed its orders. What is placed here is sent at once, and what
 * another replica has left is found within a second.
 */
@Injectable()
export class DispatcherService {
  private readonly logger = new Logger(DispatcherService.name);
  private readonly underWay = new Set<Promise<void>>();
  private readonly sending = new StepLoop(() => this.sendNext());
  private readonly background = origin();
  private isStopping = false;
  /** Whether orders may be queued for which no request of this process waits. */
  private mayOthersBeQueued = false;

  constructor(
    private readonly claims: OrderClaims,
    private readonly releases: HoldReleases,
    private readonly requests: OrderRequests,
    private readonly ends: EndReader,
    private readonly batchCall: BatchCallService,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {
    this.ends.onceRead(() => this.sendOthers());
  }

  /** How many requests of this process are queued. */
  countQueued(): number {
    return this.requests.countQueued();
  }

  /**
   * Waits until an order that was placed has an outcome, as far as one is to be had now. Never rejects.
   *
   * @returns undefined when the order is to be read to know its outcome
   */
  awaitOutcome(orderId: number, kind: OrderKind): Promise<OrderOutcome | undefined> {
    const outcome = this.requests.untilOutcome(orderId, kind);
    if (kind === 'purchase') this.sending.wake();
    else this.ends.wake();
    return outcome;
  }

  /** Looks for what is queued, whoever placed it. */
  async look(): Promise<void> {
    const [hasNext, hasUnread] = await Promise.all([this.claims.hasNext(), this.ends.hasUnread()]);
    if (hasNext) this.sendOthers();
    if (hasUnread) this.ends.wake();
  }

  /** Sends from now on only while requests of this process are queued. */
  stop(): void {
    this.isStopping = true;
    this.ends.stop();
  }

  /** Waits until no call is under way. */
  async untilIdle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private sendOthers(): void {
    this.mayOthersBeQueued = true;
    this.sending.wake();
  }

  /** @returns whether there may be more to send */
  private async sendNext(): Promise<boolean> {
    const hasOthers = this.mayOthersBeQueued && !this.isStopping;
    // What woke this may have been claimed with the batch before: a permit and a claim would find nothing.
    if (!hasOthers && !this.requests.isAnyQueued()) return false;
    this.mayOthersBeQueued = false;
    try {
      this.provider.assertTakesOrders();
      return await this.sendNextBatch(
        await this.provider.waitForPermit('order', this.config.purchases.waitMs),
      );
    } catch (error) {
      if (error instanceof ProviderError) {
        // There was no permit in time, or there will be none. Requests that have waited long enough leave
        // by their own timers.
        await this.requests.emptyQueueIfClosed();
      } else {
        this.logger.error(`the next batch was not sent: ${messageOf(error)}`);
      }
      await pause(PAUSE_AFTER_FAILURE_MS);
      return this.countQueued() > 0;
    }
  }

  private async sendNextBatch(permit: RatePermit): Promise<boolean> {
    // It counts from before the claim, so that it ends no later than the deadline that the database stores.
    const deadline = Deadline.after(this.config.provider.timeoutMs);
    const batch = await this.claimNext(permit);
    if (!batch) {
      await permit.giveBack();
      // What is still queued is being claimed by another replica at this very moment.
      await pause(PAUSE_WHEN_OTHERS_CLAIM_MS);
      if (!(await this.claims.hasNext())) return false;
      this.mayOthersBeQueued = true;
      return true;
    }
    if (batch.leavesOthers) this.mayOthersBeQueued = true;
    this.requests.noteSent(memberIds(batch));
    if (!batch.resent) this.observeWaits(batch);
    // Only a batch of one may cost more than is known to be there.
    if (batch.members.length === 1 && !(await this.provider.affords(batch.providerPrice))) {
      await permit.giveBack();
      this.track(this.refundUnsent(batch));
    } else {
      this.track(this.send(batch, { permit, deadline }));
    }
    return batch.leavesOthers;
  }

  private async claimNext(permit: RatePermit): Promise<ClaimedBatch | null> {
    const claim = randomUUID();
    try {
      return await this.claims.claimNextBatch(claim, this.provider.spendable());
    } catch (error) {
      await permit.giveBack();
      if (mayHaveCommitted(error)) this.track(this.undoClaim(claim, error));
      throw error;
    }
  }

  private observeWaits({ submittedAt, members }: OrderBatch): void {
    for (const { placedAt, isRenewal } of members) {
      // Nobody waits for a renewal, which lets all others go first.
      if (isRenewal) continue;
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
    await this.requests.noteCallOver(ids);
  }

  private send(batch: OrderBatch, permission: CallPermission): Promise<void> {
    const ids = memberIds(batch);
    const attributes = { 'order.kind': batch.kind, 'order.ids': ids };
    const work = async (): Promise<void> => {
      const { outcomes, mayBeQueued } = await this.batchCall.callAndSettle(batch, permission);
      await this.requests.noteCallOver(ids, outcomes);
      if (mayBeQueued) this.sendOthers();
    };
    return inSharedSpan('orders.send', attributes, this.requests.origins(ids), this.background, work);
  }

  private track(work: Promise<void>): void {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  /** Nothing is ever sent for a claim whose reply was lost. */
  private async undoClaim(claim: string, error: unknown): Promise<void> {
    try {
      this.requests.noteRefunded(await this.claims.undoClaim(claim, error));
    } catch (trouble) {
      this.logger.warn(`a claim without a reply is left to reconciliation: ${messageOf(trouble)}`);
    }
  }
}
