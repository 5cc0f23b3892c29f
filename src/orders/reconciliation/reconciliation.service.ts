import { Injectable, Logger } from '@nestjs/common';
import { stackOf } from '../../common';
import { AppConfig } from '../../config';
import { violatedConstraint } from '../../database';
import { Metrics } from '../../metrics';
import {
  Deadline,
  type ListedProxy,
  ListingIncomplete,
  type ListingOptions,
  ProviderError,
  ProxyProvider,
} from '../../provider';
import { inSpan } from '../../tracing';
import {
  type BatchMember,
  listsAllProlongations,
  listsWholePurchase,
  memberIds,
  membersByPurchase,
  batchName,
  type OrderBatch,
} from '../order-batch';
import { OrderQueries } from '../order-queries';
import { ProviderCallLog } from '../provider-call-log';
import { OrderCancellations } from '../transitions/order-cancellations';
import {
  OutcomeSearchRecords,
  SEARCHES_END_AFTER_SECONDS,
  spacingOfEmptySearchesSeconds,
} from '../transitions/outcome-search-records';
import { Settlement } from '../transitions/settlement';
import { prolongationEvidence, purchaseEvidence } from './evidence';

/** Determines unknown outcomes. All replicas may search concurrently, because no search buys anything. */
@Injectable()
export class ReconciliationService {
  private readonly logger = new Logger(ReconciliationService.name);

  constructor(
    private readonly searches: OutcomeSearchRecords,
    private readonly settlement: Settlement,
    private readonly cancellations: OrderCancellations,
    private readonly queries: OrderQueries,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {}

  /** @returns the number of batches and unsent orders that were due */
  async settleDue(limit: number): Promise<number> {
    const { unsent, batches } = await this.searches.claimDueSearches(limit);
    for (const id of await this.cancellations.cancelOrders(unsent, 'not-sent', ['reserved'])) {
      this.logger.log(`order ${id}: canceled: it was never sent`);
    }
    for (const batch of batches) {
      try {
        await this.search(batch);
      } catch (error) {
        this.logger.error(`${batchName(batch)}: a search failed`, stackOf(error));
      }
      void this.queries.awaited.changed(memberIds(batch));
    }
    return unsent.length + batches.length;
  }

  /** @returns whether the search was complete and found no delivery */
  search(batch: OrderBatch, timeoutMs = this.config.provider.timeoutMs): Promise<boolean> {
    const attributes = { 'order.kind': batch.kind, 'order.ids': memberIds(batch) };
    return inSpan('orders.search', attributes, () => this.listAndJudge(batch, timeoutMs));
  }

  private async listAndJudge(batch: OrderBatch, timeoutMs: number): Promise<boolean> {
    const startedAt = await this.queries.now();
    if (batch.kind === 'purchase') {
      const isEnough = listsWholePurchase(batch);
      const listed = await this.listEvidence(batch, batch.orderReference, startedAt, { timeoutMs, isEnough });
      return listed !== null && this.judgePurchases(batch, listed, startedAt);
    }
    // Search once per purchase: the provider lists proxies bought together under one reference.
    let foundNothing = true;
    for (const [reference, members] of membersByPurchase(batch)) {
      const part = { ...batch, members };
      const isEnough = listsAllProlongations(members);
      const listed = await this.listEvidence(part, reference, startedAt, { timeoutMs, isEnough });
      if (!listed) {
        foundNothing = false;
        continue;
      }
      for (const member of members) {
        const isNothing = await this.judgeProlongation(part, member, listed, startedAt);
        foundNothing &&= isNothing;
      }
    }
    return foundNothing;
  }

  /** @returns null if the listing failed, which proves nothing */
  private async listEvidence(
    batch: OrderBatch,
    reference: string,
    startedAt: Date,
    { timeoutMs, isEnough }: { timeoutMs: number } & Required<Pick<ListingOptions, 'isEnough'>>,
  ): Promise<ListedProxy[] | null> {
    const deadline = Deadline.after(timeoutMs);
    try {
      return await this.calls.record(batch.id, (onCall) =>
        this.provider.proxiesByReference(reference, { deadline, onCall, isEnough, priority: 'confirmation' }),
      );
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      // A listed expiry is evidence even if other rows are unreadable.
      if (error instanceof ListingIncomplete && batch.kind === 'prolongation') return [...error.found];
      this.metrics.count('reconciliation_searches_total', { outcome: 'failed' });
      await this.reviewAfterADay(batch, startedAt, error.message);
      return null;
    }
  }

  /** @returns whether nothing was found */
  private async judgePurchases(
    batch: OrderBatch,
    listed: readonly ListedProxy[],
    startedAt: Date,
  ): Promise<boolean> {
    const evidence = purchaseEvidence(batch, listed);
    this.metrics.count('reconciliation_searches_total', { outcome: evidence.kind });
    switch (evidence.kind) {
      case 'nothing':
        await this.cancelIfProven(batch, startedAt);
        return true;
      case 'bought':
        if (!evidence.whole && !this.isSettlementDelayOver(batch, startedAt)) {
          await this.searches.recordSearch(memberIds(batch), startedAt, 'something');
          return false;
        }
        await this.deliverOrReview(batch, () =>
          this.settlement.deliverPurchases(batch.id, { proxies: listed }),
        );
        return false;
      case 'contradictory':
        await this.leaveToStaff(batch, evidence.why);
        return false;
    }
  }

  /** @returns whether nothing was found */
  private async judgeProlongation(
    batch: OrderBatch,
    member: BatchMember,
    listed: readonly ListedProxy[],
    startedAt: Date,
  ): Promise<boolean> {
    const alone = { ...batch, members: [member] };
    const proxy = listed.find(({ id }) => id === member.providerProxyId);
    const evidence = prolongationEvidence(batch, member, proxy);
    this.metrics.count('reconciliation_searches_total', { outcome: evidence.kind });
    switch (evidence.kind) {
      case 'nothing':
        await this.cancelIfProven(alone, startedAt);
        return true;
      case 'prolonged': {
        if (evidence.times === 2) this.logger.error(`${batchName(alone)}: the provider prolonged twice`);
        const ends = [{ orderId: member.id, dateEnd: evidence.dateEnd }];
        await this.deliverOrReview(alone, () => this.settlement.deliverProlongations({ ends }));
        return false;
      }
      case 'inconclusive':
        await this.reviewAfterADay(alone, startedAt, evidence.why);
        return false;
      case 'contradictory':
        await this.leaveToStaff(alone, evidence.why);
        return false;
    }
  }

  /** Cancels a batch after two complete, empty searches, the second after the settlement delay. */
  private async cancelIfProven(batch: OrderBatch, startedAt: Date): Promise<void> {
    const since = await this.searches.recordSearch(memberIds(batch), startedAt, 'nothing');
    const spacingMs = spacingOfEmptySearchesSeconds(this.config.reconciliation.settlementDelaySeconds) * 1000;
    const isSecond = since !== null && startedAt.getTime() - since.getTime() >= spacingMs;
    if (!isSecond || !this.isSettlementDelayOver(batch, startedAt)) {
      await this.reviewAfterADay(batch, startedAt, 'nothing was found');
      return;
    }
    const from = ['submitting', 'confirming'] as const;
    const canceled = await this.cancellations.cancelOrders(memberIds(batch), 'nothing-found', from);
    if (canceled.length > 0) this.logger.log(`${batchName(batch)}: canceled: the provider does not have it`);
  }

  private async deliverOrReview(
    batch: OrderBatch,
    deliver: () => Promise<readonly unknown[]>,
  ): Promise<void> {
    try {
      const delivered = await deliver();
      if (delivered.length > 0) this.logger.log(`${batchName(batch)}: delivered: the provider has it`);
    } catch (error) {
      if (violatedConstraint(error) !== 'proxies_provider_proxy_id_key') throw error;
      await this.leaveToStaff(batch, 'a proxy under its order reference belongs to another order');
    }
  }

  /** Whether a call sent at the last possible moment would be visible at the provider by now. */
  private isSettlementDelayOver({ sentBefore }: OrderBatch, at: Date): boolean {
    return at.getTime() - sentBefore.getTime() >= this.config.reconciliation.settlementDelaySeconds * 1000;
  }

  private async reviewAfterADay(batch: OrderBatch, at: Date, why: string): Promise<void> {
    const openSeconds = (at.getTime() - batch.sentBefore.getTime()) / 1000;
    if (openSeconds >= SEARCHES_END_AFTER_SECONDS) await this.leaveToStaff(batch, why);
  }

  private async leaveToStaff(batch: OrderBatch, why: string): Promise<void> {
    await this.searches.sendToReview(memberIds(batch), why);
    this.logger.error(`${batchName(batch)}: staff have to decide: ${why}`);
  }
}
