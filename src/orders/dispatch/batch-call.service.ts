import { Injectable, Logger } from '@nestjs/common';
import { CatalogService } from '../../catalog';
import { messageOf, stackOf } from '../../common';
import {
  Deadline,
  type ProviderCallRecord,
  ProviderOutcomeUnknown,
  type ProviderProlongation,
  type ProviderPurchase,
  ProviderRefused,
  ProviderUnavailable,
  ProxyProvider,
  type RatePermit,
  type ProviderRefusal,
} from '../../provider';
import { inSpan } from '../../tracing';
import {
  type BatchMember,
  chooseInTurn,
  listsWholePurchase,
  memberIds,
  batchName,
  type OrderBatch,
  batchSize,
} from '../order-batch';
import type { OrderOutcome } from '../order-outcome';
import { OrderQueries } from '../order-queries';
import type { OrderFailure } from '../order-states';
import { type OrderCallRecorder, ProviderCallLog } from '../provider-call-log';
import { ReconciliationService } from '../reconciliation/reconciliation.service';
import { OrderCancellations } from '../transitions/order-cancellations';
import { OrderClaims } from '../transitions/order-claims';
import { OutcomeSearchRecords } from '../transitions/outcome-search-records';
import { Settlement } from '../transitions/settlement';

export interface CallPermission {
  readonly permit: RatePermit;
  readonly deadline: Deadline;
}

export interface SettledBatch {
  /** Whether some of the orders may be back in the queue. */
  readonly mayBeQueued: boolean;
  readonly outcomes: readonly OrderOutcome[];
}

/** Members of a refused batch to send a second time, grouped by call. */
type OtherCalls = readonly (readonly BatchMember[])[];

/** Maximum number of calls that resend a refused batch's prolongations. Twelve calls take four seconds. */
const PROLONGATION_CALLS = 12;

type OnCall = (record: ProviderCallRecord) => void;

/** Maximum time that callers wait for a search at the provider. */
const SEARCH_TIMEOUT_MS = 5000;

/** Makes the one call for a claimed batch, and settles the batch according to the response. */
@Injectable()
export class BatchCallService {
  private readonly logger = new Logger(BatchCallService.name);

  constructor(
    private readonly claims: OrderClaims,
    private readonly searches: OutcomeSearchRecords,
    private readonly settlement: Settlement,
    private readonly cancellations: OrderCancellations,
    private readonly queries: OrderQueries,
    private readonly reconciliation: ReconciliationService,
    private readonly catalog: CatalogService,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
  ) {}

  /** Never rejects, because reconciliation takes over unsettled orders. */
  async callAndSettle(batch: OrderBatch, permission: CallPermission): Promise<SettledBatch> {
    const outcomes: OrderOutcome[] = [];
    let hasResponse = false;
    try {
      await this.calls.record(batch.id, async (onCall, calls) => {
        const options = { ...permission, onCall, quoted: batch.providerPrice };
        if (batch.kind === 'purchase') {
          const { orderReference, country, version, period, proxyType } = batch;
          const request = { orderReference, country, version, period, proxyType, count: batchSize(batch) };
          const purchase = await this.provider.buy(request, options);
          hasResponse = true;
          outcomes.push(
            ...(await settling('delivered', () => this.settlePurchases(batch, purchase, { onCall, calls }))),
          );
        } else {
          const proxyIds = batch.members.flatMap(({ providerProxyId }) => providerProxyId ?? []);
          const prolongation = await this.provider.prolong({ proxyIds, period: batch.period }, options);
          hasResponse = true;
          await settling('delivered', () =>
            this.settleProlongations(batch, prolongation, { outcomes, calls }),
          );
        }
      });
      for (const { count } of batch.members) this.catalog.recordPriceUsed({ ...batch, count });
      return { mayBeQueued: false, outcomes };
    } catch (error) {
      // A failure after a successful call is not a refusal, because the proxies may have been bought.
      const failure = hasResponse
        ? new ProviderOutcomeUnknown(`after a successful call: ${messageOf(error)}`)
        : error;
      try {
        return { mayBeQueued: await settling('failed', () => this.settleFailure(batch, failure)), outcomes };
      } catch (trouble) {
        this.logger.error(`${batchName(batch)}: left to reconciliation`, stackOf(trouble));
        return { mayBeQueued: true, outcomes };
      }
    }
  }

  private async settlePurchases(
    batch: OrderBatch,
    purchase: ProviderPurchase,
    { onCall, calls }: { onCall: OnCall; calls: OrderCallRecorder },
  ): Promise<OrderOutcome[]> {
    const isShort = purchase.proxies.length < batchSize(batch);
    const delivery = isShort ? await this.confirmShortDelivery(batch, purchase, onCall) : purchase;
    const closed = await calls.storeFirstBy((call) =>
      this.settlement.deliverPurchases(batch.id, delivery, { call }),
    );
    this.catalog.recordSale(batch.country, batch.version, delivery.proxies.length);
    return closed;
  }

  /** Replaces a short delivery with the provider's listing if the listing contains more proxies. */
  private async confirmShortDelivery(
    batch: OrderBatch,
    purchase: ProviderPurchase,
    onCall: OnCall,
  ): Promise<ProviderPurchase> {
    const deadline = Deadline.after(SEARCH_TIMEOUT_MS);
    const options = { deadline, onCall, isEnough: listsWholePurchase(batch), priority: 'order' } as const;
    const listed = await this.provider.proxiesByReference(batch.orderReference, options);
    return listed.length > purchase.proxies.length ? { ...purchase, proxies: listed } : purchase;
  }

  /** A rental whose expiry has not moved was not prolonged, even if the provider reported success. */
  private async settleProlongations(
    batch: OrderBatch,
    { dateEnds, providerOrderId, charge }: ProviderProlongation,
    { outcomes, calls }: { outcomes: OrderOutcome[]; calls: OrderCallRecorder },
  ): Promise<void> {
    const ends = batch.members.flatMap(({ id, providerProxyId, dateEndBefore }) => {
      const dateEnd = dateEnds.get(providerProxyId ?? '');
      return dateEnd && dateEndBefore && dateEnd > dateEndBefore ? [{ orderId: id, dateEnd }] : [];
    });
    if (ends.length > 0) {
      const delivered = { ends, providerOrderId, charge };
      const closed = await calls.storeFirstBy((call) =>
        this.settlement.deliverProlongations(delivered, { call }),
      );
      outcomes.push(...closed);
    }
    if (ends.length < batch.members.length) {
      throw new ProviderOutcomeUnknown(
        'the provider confirmed the prolongation, but the end of the rental is unchanged',
      );
    }
  }

  /** Cancels orders only if it is certain that nothing was bought. @returns whether some are queued again */
  private async settleFailure(batch: OrderBatch, error: unknown): Promise<boolean> {
    if (!(error instanceof ProviderRefused || error instanceof ProviderUnavailable)) {
      this.logger.error(`${batchName(batch)}: the outcome is unknown: ${messageOf(error)}`);
      await this.searchOnce(batch.id, error);
      return false;
    }
    this.logger.warn(`${batchName(batch)}: nothing was bought: ${messageOf(error)}`);
    if (error instanceof ProviderRefused) return this.settleRefusal(batch, error.reason);
    await this.cancelUnbought(memberIds(batch), 'unavailable');
    return false;
  }

  /** Requeues the members that may be accepted in another call. No member is sent a third time. */
  private async settleRefusal(batch: OrderBatch, reason: ProviderRefusal): Promise<boolean> {
    if (batch.kind === 'purchase' && reason === 'period') {
      this.catalog.recordPeriodRefused(batch.version, batch.period, batch.country);
    }
    const calls = await this.chooseForOtherCalls(batch, reason);
    const ids = calls.map((members) => members.map(({ id }) => id));
    const queued = new Set(await this.claims.requeueRefused(batch.id, ids));
    const isOneOfSeveral = reason === 'not-found' && batch.members.length > 1;
    await this.cancelUnbought(
      memberIds(batch).filter((id) => !queued.has(id)),
      isOneOfSeveral ? 'request' : reason,
    );
    return queued.size > 0;
  }

  private async chooseForOtherCalls(batch: OrderBatch, reason: ProviderRefusal): Promise<OtherCalls> {
    const isPurchase = batch.kind === 'purchase';
    if (batch.members.length === 1 || batch.resent) {
      if (isPurchase && reason === 'out-of-stock') {
        // Corrects the known stock, so that later orders are refused before their money is held.
        void this.catalog.readStock(batch.country, batch.version).catch(() => undefined);
      }
      return [];
    }
    if (reason === 'misconfigured') return [];
    if (reason === 'out-of-funds') return [await this.chooseAffordable(batch)];
    if (isPurchase && reason === 'out-of-stock') return [await this.chooseInStock(batch)];
    // Purchases in a batch differ only in count, so any refusal except `count` concerns all of them.
    if (isPurchase) return reason === 'count' ? batch.members.map((member) => [member]) : [];
    return separate(batch.members);
  }

  private async chooseInStock(batch: OrderBatch): Promise<BatchMember[]> {
    const stock = await this.catalog.readStock(batch.country, batch.version).catch(() => 0);
    return chooseInTurn(batch, String(stock), ({ count }) => String(count));
  }

  private async chooseAffordable(batch: OrderBatch): Promise<BatchMember[]> {
    const balance = await this.provider.readBalance().catch(() => null);
    return chooseInTurn(batch, balance ?? '0', ({ cost }) => cost);
  }

  private async searchOnce(batchId: number, error: unknown): Promise<void> {
    const open = await this.queries.findBatch(batchId);
    if (!open) return;
    const foundNothing = await this.reconciliation.search(open, SEARCH_TIMEOUT_MS);
    // The provider documents that a 429 has no effect, so one empty listing is proof enough.
    if (foundNothing && error instanceof ProviderOutcomeUnknown && error.rateLimited) {
      await this.cancelUnbought(memberIds(open), 'unavailable');
    } else {
      await this.searches.beginConfirming(batchId);
    }
  }

  /** Cancels even orders that reconciliation is already searching for. */
  private async cancelUnbought(orderIds: readonly number[], reason: OrderFailure): Promise<void> {
    await this.cancellations.cancelOrders(orderIds, reason, ['submitting', 'confirming']);
  }
}

/**
 * Sorts prolongations by expiry and splits them into calls, so that rentals bought together usually share a
 * call, as do expired rentals.
 */
function separate(members: readonly BatchMember[]): OtherCalls {
  const endOf = ({ dateEndBefore }: BatchMember): number => dateEndBefore?.getTime() ?? 0;
  const byEnd = members.toSorted((one, other) => endOf(one) - endOf(other));
  const size = Math.ceil(byEnd.length / PROLONGATION_CALLS);
  return byEnd.flatMap((_, at) => (at % size === 0 ? [byEnd.slice(at, at + size)] : []));
}

const settling = <Result>(outcome: 'delivered' | 'failed', work: () => Promise<Result>): Promise<Result> =>
  inSpan('orders.settle', { 'order.outcome': outcome }, work);
