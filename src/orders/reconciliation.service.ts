import { Inject, Injectable, Logger } from '@nestjs/common';
import { stackOf } from '../common';
import { AppConfig } from '../config';
import { violatedConstraint } from '../database';
import { Deadline, ProviderError, UpstreamProvider } from '../provider';
import { type Evidence, prolongationEvidence, purchaseEvidence } from './evidence';
import { LOOKS_END_AFTER_SECONDS, spacingOfEmptyLooksSeconds } from './look-schedule';
import type { Order } from './order.entity';
import { OrderSteps } from './order-steps';
import { UpstreamCallLog } from './upstream-call-log';

/**
 * Finds out what became of orders whose request did not come to an end: the way out of every crash and of every lost answer.
 * Safe on any number of replicas at once, and never buys.
 */
@Injectable()
export class ReconciliationService {
  private readonly logger = new Logger(ReconciliationService.name);

  constructor(
    @Inject(OrderSteps) private readonly steps: OrderSteps,
    @Inject(UpstreamProvider) private readonly provider: UpstreamProvider,
    @Inject(UpstreamCallLog) private readonly calls: UpstreamCallLog,
    @Inject(AppConfig) private readonly config: AppConfig,
  ) {}

  /** Looks at the orders that are due, one after the other. Gives how many there were. */
  async settleDue(limit: number): Promise<number> {
    const due = await this.steps.takeDue(limit);
    for (const order of due) {
      try {
        await this.settle(order);
      } catch (error) {
        this.logger.error(`order ${order.id}: a look failed`, stackOf(error));
      }
    }
    return due.length;
  }

  /**
   * One look at one order.
   *
   * @param lookTimeoutMs bounds the upstream's answer, for a caller who waits
   */
  async settle(
    order: Order,
    lookTimeoutMs = this.config.providerTimeoutMs,
  ): Promise<Evidence['kind'] | 'not-sent'> {
    if (order.state === 'reserved') {
      if (await this.steps.refund(order.id, 'not-sent', ['reserved']))
        this.tell(order, 'refunded: it was never sent');
      return 'not-sent';
    }
    const startedAt = await this.steps.now();
    const evidence = await this.look(order, lookTimeoutMs);
    await this.act(order, evidence, startedAt);
    return evidence.kind;
  }

  private async look(order: Order, timeoutMs: number): Promise<Evidence> {
    const { tag, providerProxyId } =
      order.kind === 'purchase'
        ? { tag: order.tag, providerProxyId: null }
        : await this.steps.getUpstreamIdentity(order.proxyId ?? 0);
    try {
      const listed = await this.calls.keep(order.id, (onCall) =>
        this.provider.proxiesByTag(tag, {
          deadline: Deadline.after(timeoutMs),
          onCall,
          priority: 'confirmation',
        }),
      );
      return order.kind === 'purchase'
        ? purchaseEvidence(order, listed)
        : prolongationEvidence(
            order,
            listed.find((proxy) => proxy.id === providerProxyId),
          );
    } catch (error) {
      // A look that failed says nothing, least of all that nothing is there.
      if (error instanceof ProviderError) return { kind: 'inconclusive', why: error.message };
      throw error;
    }
  }

  private async act(order: Order, evidence: Evidence, startedAt: Date): Promise<void> {
    switch (evidence.kind) {
      case 'bought': {
        if (!evidence.whole && !this.isQuiet(order, startedAt)) {
          await this.steps.noteLook(order.id, startedAt, 'something');
          return;
        }
        await this.deliverFound(order, () => this.steps.deliver(order.id, evidence.purchase));
        return;
      }
      case 'prolonged': {
        if (evidence.times === 2) this.logger.error(`order ${order.id}: the upstream prolonged twice`);
        await this.deliverFound(order, () =>
          this.steps.deliverProlongation(order.id, {
            dateEnd: evidence.dateEnd,
            providerOrderId: null,
            charge: order.providerPrice,
          }),
        );
        return;
      }
      case 'nothing': {
        const since = await this.steps.noteLook(order.id, startedAt, 'nothing');
        if (!since || !this.isQuiet(order, startedAt) || !this.isSecondEmptyLook(since, startedAt)) {
          await this.giveUpAfterADay(order, startedAt, 'nothing was found');
        } else if (await this.steps.refund(order.id, 'nothing-found', ['submitting', 'confirming'])) {
          this.tell(order, 'refunded: the upstream does not have it');
        }
        return;
      }
      case 'inconclusive': {
        await this.giveUpAfterADay(order, startedAt, evidence.why);
        return;
      }
      case 'contradictory': {
        await this.review(order, evidence.why);
        return;
      }
    }
  }

  private async deliverFound(order: Order, deliver: () => Promise<boolean>): Promise<void> {
    try {
      if (await deliver()) this.tell(order, 'delivered: the upstream has it');
    } catch (error) {
      if (violatedConstraint(error) !== 'proxies_provider_proxy_id_key') throw error;
      await this.review(order, 'a proxy under its tag belongs to another order');
    }
  }

  /** Whether a request that went out in the last moment would have shown by now. */
  private isQuiet(order: Order, at: Date): boolean {
    return at.getTime() - order.deadline.getTime() >= this.config.reconcileQuietSeconds * 1000;
  }

  private isSecondEmptyLook(nothingSeenSince: Date, at: Date): boolean {
    const spacingMs = spacingOfEmptyLooksSeconds(this.config.reconcileQuietSeconds) * 1000;
    return at.getTime() - nothingSeenSince.getTime() >= spacingMs;
  }

  private async giveUpAfterADay(order: Order, at: Date, why: string): Promise<void> {
    if (at.getTime() - order.deadline.getTime() >= LOOKS_END_AFTER_SECONDS * 1000)
      await this.review(order, why);
  }

  private async review(order: Order, why: string): Promise<void> {
    await this.steps.sendToReview(order.id, why);
    this.logger.error(`order ${order.id}: staff have to decide: ${why}`);
  }

  private tell(order: Order, what: string): void {
    this.logger.log(`order ${order.id}: ${what}`);
  }
}
