import { Injectable, Logger } from '@nestjs/common';
import { stackOf } from '../common';
import { AppConfig } from '../config';
import { violatedConstraint } from '../database';
import { Deadline, type ListedProxy, ProviderError, ProxyProvider } from '../provider';
import { prolongationEvidence, purchaseEvidence } from './evidence';
import { LOOKS_END_AFTER_SECONDS, spacingOfEmptyLooksSeconds } from './look-schedule';
import { type GroupedOrder, idsOf, nameOf, type OrderGroup, ordersByPurchase } from './order-group';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';
import { ProviderCallLog } from './provider-call-log';

/**
 * Finds out what became of orders whose request did not come to an end: the way out of every crash and of every lost answer. A group is
 * looked for once for all its orders. Safe on any number of replicas at once, and never buys.
 */
@Injectable()
export class ReconciliationService {
  private readonly logger = new Logger(ReconciliationService.name);

  constructor(
    private readonly steps: OrderSteps,
    private readonly settlement: OrderSettlement,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
    private readonly config: AppConfig,
  ) {}

  /** Looks at what is due, one group after the other. Gives how many there were. */
  async settleDue(limit: number): Promise<number> {
    const { unsent, groups } = await this.steps.takeDue(limit);
    for (const id of await this.settlement.refund(unsent, 'not-sent', ['reserved'])) {
      this.logger.log(`order ${id}: refunded: it was never sent`);
    }
    for (const group of groups) {
      try {
        await this.look(group);
      } catch (error) {
        this.logger.error(`${nameOf(group)}: a look failed`, stackOf(error));
      }
    }
    return unsent.length + groups.length;
  }

  /**
   * One look at what is open of a group. Says whether it is complete and shows nothing of any of its orders.
   *
   * @param lookTimeoutMs bounds the provider's answer, for a caller who waits
   */
  async look(group: OrderGroup, lookTimeoutMs = this.config.provider.timeoutMs): Promise<boolean> {
    const startedAt = await this.steps.now();
    if (group.kind === 'purchase') {
      return this.withListing(group, group.tag, startedAt, lookTimeoutMs, (listed) =>
        this.judgePurchase(group, listed, startedAt),
      );
    }
    // Each prolongation has its own evidence, the end of its proxy. Proxies that were bought together are listed together.
    let nothingOfAny = true;
    for (const [tag, orders] of ordersByPurchase(group)) {
      const part = { ...group, orders };
      const nothing = await this.withListing(part, tag, startedAt, lookTimeoutMs, async (listed) => {
        let nothingOfPart = true;
        for (const order of orders) {
          nothingOfPart = (await this.judgeProlongation(part, order, listed, startedAt)) && nothingOfPart;
        }
        return nothingOfPart;
      });
      nothingOfAny &&= nothing;
    }
    return nothingOfAny;
  }

  /** A look that failed says nothing, least of all that nothing is there. */
  private async withListing(
    group: OrderGroup,
    tag: string,
    startedAt: Date,
    timeoutMs: number,
    judge: (listed: readonly ListedProxy[]) => Promise<boolean>,
  ): Promise<boolean> {
    let listed: ListedProxy[];
    try {
      listed = await this.calls.keep(group.id, (onCall) =>
        this.provider.proxiesByTag(tag, {
          deadline: Deadline.after(timeoutMs),
          onCall,
          priority: 'confirmation',
        }),
      );
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await this.giveUpAfterADay(group, startedAt, error.message);
      return false;
    }
    return judge(listed);
  }

  private async judgePurchase(
    group: OrderGroup,
    listed: readonly ListedProxy[],
    startedAt: Date,
  ): Promise<boolean> {
    const evidence = purchaseEvidence(group, listed);
    switch (evidence.kind) {
      case 'nothing':
        await this.noteNothing(group, startedAt);
        return true;
      case 'bought':
        if (!evidence.whole && !this.isQuiet(group, startedAt)) {
          await this.steps.noteLook(idsOf(group), startedAt, 'something');
          return false;
        }
        await this.deliverFound(group, () =>
          this.settlement.deliver(group.id, { proxies: listed, providerOrderId: null, charge: null }),
        );
        return false;
      case 'contradictory':
        await this.review(group, evidence.why);
        return false;
    }
  }

  private async judgeProlongation(
    group: OrderGroup,
    order: GroupedOrder,
    listed: readonly ListedProxy[],
    startedAt: Date,
  ): Promise<boolean> {
    const one = { ...group, orders: [order] };
    const found = listed.find((proxy) => proxy.id === order.providerProxyId);
    const evidence = prolongationEvidence(group, order, found);
    switch (evidence.kind) {
      case 'nothing':
        await this.noteNothing(one, startedAt);
        return true;
      case 'prolonged': {
        if (evidence.times === 2) this.logger.error(`${nameOf(one)}: the provider prolonged twice`);
        const ends = [{ orderId: order.id, dateEnd: evidence.dateEnd }];
        await this.deliverFound(one, () =>
          this.settlement.deliverProlongations({ ends, providerOrderId: null, charge: null }),
        );
        return false;
      }
      case 'inconclusive':
        await this.giveUpAfterADay(one, startedAt, evidence.why);
        return false;
      case 'contradictory':
        await this.review(one, evidence.why);
        return false;
    }
  }

  private async noteNothing(group: OrderGroup, startedAt: Date): Promise<void> {
    const since = await this.steps.noteLook(idsOf(group), startedAt, 'nothing');
    if (!since || !this.isQuiet(group, startedAt) || !this.isSecondEmptyLook(since, startedAt)) {
      await this.giveUpAfterADay(group, startedAt, 'nothing was found');
      return;
    }
    const refunded = await this.settlement.refund(idsOf(group), 'nothing-found', [
      'submitting',
      'confirming',
    ]);
    if (refunded.length > 0) this.tell(group, 'refunded: the provider does not have it');
  }

  private async deliverFound(group: OrderGroup, deliver: () => Promise<number[]>): Promise<void> {
    try {
      if ((await deliver()).length > 0) this.tell(group, 'delivered: the provider has it');
    } catch (error) {
      if (violatedConstraint(error) !== 'proxies_provider_proxy_id_key') throw error;
      await this.review(group, 'a proxy under its tag belongs to another order');
    }
  }

  /** Whether a request that went out in the last moment would have shown by now. */
  private isQuiet({ deadline }: OrderGroup, at: Date): boolean {
    return at.getTime() - deadline.getTime() >= this.config.reconciliation.quietSeconds * 1000;
  }

  private isSecondEmptyLook(nothingSeenSince: Date, at: Date): boolean {
    const spacingMs = spacingOfEmptyLooksSeconds(this.config.reconciliation.quietSeconds) * 1000;
    return at.getTime() - nothingSeenSince.getTime() >= spacingMs;
  }

  private async giveUpAfterADay(group: OrderGroup, at: Date, why: string): Promise<void> {
    if (at.getTime() - group.deadline.getTime() >= LOOKS_END_AFTER_SECONDS * 1000) {
      await this.review(group, why);
    }
  }

  private async review(group: OrderGroup, why: string): Promise<void> {
    await this.steps.sendToReview(idsOf(group), why);
    this.logger.error(`${nameOf(group)}: staff have to decide: ${why}`);
  }

  private tell(group: OrderGroup, what: string): void {
    this.logger.log(`${nameOf(group)}: ${what}`);
  }
}
