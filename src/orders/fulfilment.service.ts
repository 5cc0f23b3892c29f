import { Injectable, Logger } from '@nestjs/common';
import { CatalogService } from '../catalog';
import { messageOf, stackOf } from '../common';
import {
  Deadline,
  type ProviderCallRecord,
  ProviderOutcomeUnknown,
  type ProviderPurchase,
  ProviderRefused,
  ProviderUnavailable,
  ProxyProvider,
  type RatePermit,
} from '../provider';
import { idsOf, nameOf, type OrderGroup, sizeOf } from './order-group';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';
import { ProviderCallLog } from './provider-call-log';
import { ReconciliationService } from './reconciliation.service';

/** Leave to make the one call of a group. */
export interface CallLeave {
  readonly permit: RatePermit;
  /** Counted from before the claim: it ends no later than what the database stores. */
  readonly deadline: Deadline;
}

type OnCall = (record: ProviderCallRecord) => void;

/** How long the callers wait for a look at the provider after the answer to their orders was lost. */
const LOOK_AFTER_LOST_ANSWER_MS = 5000;

/** Calls the provider for a group that was claimed, once, and settles what it says. */
@Injectable()
export class FulfilmentService {
  private readonly logger = new Logger(FulfilmentService.name);

  constructor(
    private readonly steps: OrderSteps,
    private readonly settlement: OrderSettlement,
    private readonly reconciliation: ReconciliationService,
    private readonly catalog: CatalogService,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
  ) {}

  /** Says whether some of the orders may be in line again. Never rejects: what it cannot settle is left to reconciliation. */
  async fulfil(group: OrderGroup, leave: CallLeave): Promise<boolean> {
    let answered = false;
    try {
      await this.calls.keep(group.id, async (onCall) => {
        const options = { ...leave, onCall, quoted: group.providerPrice };
        if (group.kind === 'purchase') {
          const { tag, country, version, period, proxyType } = group;
          const request = { tag, country, version, period, proxyType, count: sizeOf(group) };
          const answer = await this.provider.buy(request, options);
          answered = true;
          await this.settlePurchase(group, answer, onCall);
        } else {
          const proxyIds = group.orders.flatMap(({ providerProxyId }) => providerProxyId ?? []);
          const answer = await this.provider.prolong({ proxyIds, period: group.period }, options);
          answered = true;
          await this.settleProlongations(group, answer);
        }
      });
      return false;
    } catch (error) {
      // After a yes, whatever fails says nothing about the orders: only the money call's own failure may be a no.
      const failure = answered ? new ProviderOutcomeUnknown(`after a yes: ${messageOf(error)}`) : error;
      try {
        return await this.recover(group, failure);
      } catch (trouble) {
        this.logger.error(`${nameOf(group)}: left to reconciliation`, stackOf(trouble));
        return true;
      }
    }
  }

  private async settlePurchase(group: OrderGroup, answer: ProviderPurchase, onCall: OnCall): Promise<void> {
    const isShort = answer.proxies.length < sizeOf(group);
    const { proxies, providerOrderId, charge } = isShort
      ? await this.confirmShort(group, answer, onCall)
      : answer;
    await this.settlement.deliver(group.id, { proxies, providerOrderId, charge });
    void this.catalog.noteSale(group.country, group.version, proxies.length);
  }

  /** The provider handed over fewer than asked. What it lists under the tag decides, should it list more. */
  private async confirmShort(
    { tag }: OrderGroup,
    purchase: ProviderPurchase,
    onCall: OnCall,
  ): Promise<ProviderPurchase> {
    const deadline = Deadline.after(LOOK_AFTER_LOST_ANSWER_MS);
    const listed = await this.provider.proxiesByTag(tag, { deadline, onCall, priority: 'order' });
    return listed.length > purchase.proxies.length ? { ...purchase, proxies: listed } : purchase;
  }

  /** What moved is delivered. A yes for a proxy whose end has not moved is no yes. */
  private async settleProlongations(
    group: OrderGroup,
    {
      dateEnds,
      providerOrderId,
      charge,
    }: {
      dateEnds: ReadonlyMap<string, Date>;
      providerOrderId: string | null;
      charge: string;
    },
  ): Promise<void> {
    const ends = group.orders.flatMap(({ id, providerProxyId, dateEndBefore }) => {
      const dateEnd = dateEnds.get(providerProxyId ?? '');
      return dateEnd && dateEndBefore && dateEnd > dateEndBefore ? [{ orderId: id, dateEnd }] : [];
    });
    if (ends.length > 0) await this.settlement.deliverProlongations({ ends, providerOrderId, charge });
    if (ends.length < group.orders.length) {
      throw new ProviderOutcomeUnknown('prolong was answered yes, and the end did not move');
    }
  }

  /**
   * Gives the money back when it is certain that nothing was bought, or lets each order try by itself when it may be the group that
   * was too much; otherwise looks once and leaves the rest to reconciliation. Says whether the orders are in line again.
   */
  private async recover(group: OrderGroup, error: unknown): Promise<boolean> {
    if (error instanceof ProviderRefused || error instanceof ProviderUnavailable) {
      const reason = error instanceof ProviderRefused ? error.reason : 'unavailable';
      this.logger.warn(`${nameOf(group)}: nothing was bought: ${messageOf(error)}`);
      const isAboutTheRequest =
        error instanceof ProviderRefused && reason !== 'out-of-funds' && reason !== 'misconfigured';
      const isTakenApart = isAboutTheRequest && group.orders.length > 1;
      if (isTakenApart) await this.steps.takeApart(group.id);
      else await this.refund(group, reason);
      return isTakenApart;
    }
    this.logger.error(`${nameOf(group)}: the outcome is unknown: ${messageOf(error)}`);
    await this.lookAtOnce(group.id, error);
    return false;
  }

  private async lookAtOnce(groupId: number, error: unknown): Promise<void> {
    const open = await this.steps.findGroup(groupId);
    if (!open) return;
    const isNothing = await this.reconciliation.look(open, LOOK_AFTER_LOST_ANSWER_MS);
    // By its documentation the provider does nothing when it answers 429; a listing that agrees is enough.
    if (isNothing && error instanceof ProviderOutcomeUnknown && error.rateLimited) {
      await this.refund(open, 'unavailable');
    } else {
      await this.steps.beginConfirming(groupId);
    }
  }

  /** When it is certain that nothing was bought, also when reconciliation has begun to look for it meanwhile. */
  private async refund(group: OrderGroup, reason: string): Promise<void> {
    await this.settlement.refund(idsOf(group), reason, ['submitting', 'confirming']);
  }
}
