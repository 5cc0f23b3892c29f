import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { CatalogService, checkPeriod, type Quote } from '../../catalog';
import { DomainError, type IpVersion, messageOf, type Money, type ProxyType } from '../../common';
import { ProxyProvider } from '../../provider';
import { DispatcherService } from '../dispatch/dispatcher.service';
import type { Idempotency } from '../order-keys';
import { newOrder, type Payer } from '../placing/new-order';
import { OrderChecks } from '../placing/order-checks';
import { OrderPlacement, type RenewalPlacement } from '../placing/order-placement';
import { OrdersService } from '../placing/orders.service';

/** What is renewed, for whom and for how long. */
export interface RenewalOffer {
  readonly userId: number;
  readonly country: string;
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
}

/** A renewal whose order is to be placed. */
export interface WantedRenewal extends RenewalOffer {
  readonly proxyId: number;
  readonly proxyType: ProxyType;
  readonly renewalId: number;
  readonly dateEndBefore: Date;
  readonly ruleId: number;
  /** The order is not placed for more. */
  readonly maxPrice: Money | null;
  /** Whether the last sweep has confirmed the end, so that no listing is needed before the call. */
  readonly isConfirmed: boolean;
  /** The provider lists the proxy under this tag, with all that was bought together with it. */
  readonly purchaseTag: string;
  readonly quote: Quote;
}

/** An order that was placed for a renewal and not sent yet. */
export interface UnsentRenewal {
  readonly orderId: number;
  readonly userId: number;
  readonly proxyId: number;
  /** Whether it stands in the queue. Otherwise the end of its rental is to be read first. */
  readonly isQueued: boolean;
}

/**
 * The key of the order that renews a rental: each (proxy, old end) is charged once. No caller can send it,
 * because keys have no spaces, and no order of a bulk has it, because those have one.
 */
export const renewalKey = (proxyId: number, dateEndBefore: Date): string =>
  `renewal ${proxyId} ${Math.floor(dateEndBefore.getTime() / 1000)}`;

/** The same in SQL. @param proxyId and @param dateEndBefore are expressions */
export const renewalKeySql = (proxyId: string, dateEndBefore: string): string =>
  `'renewal ' || ${proxyId} || ' ' || floor(extract(epoch FROM ${dateEndBefore}))::bigint`;

/**
 * The orders of renewals. They are ordinary prolongations, which pass the checks of a customer's own and
 * stand in the same queue, but nobody waits for their answers: the rows of the orders tell.
 */
@Injectable()
export class RenewalOrders {
  private readonly logger = new Logger(RenewalOrders.name);
  /** The orders that this process sees through the queue and their calls. */
  private readonly underWay = new Map<number, Promise<void>>();

  constructor(
    private readonly orders: OrdersService,
    private readonly placement: OrderPlacement,
    private readonly checks: OrderChecks,
    private readonly dispatcher: DispatcherService,
    private readonly catalog: CatalogService,
    private readonly provider: ProxyProvider,
  ) {}

  /** What an order is charged now. @throws DomainError when it has no price */
  async price({ userId, country, version, period }: RenewalOffer): Promise<Quote> {
    checkPeriod(version, period, 'renewal');
    return this.catalog.chargedPrice({ version, period, count: 1 }, { userId, country });
  }

  /** Whether the provider takes orders now. */
  canBeSent(): boolean {
    return this.checks.providerRefusal() === null;
  }

  /** What orders may cost together at the provider, as far as is known: roubles; null when nothing is. */
  spendable(): string | null {
    return this.provider.spendable();
  }

  /** Places the orders by one statement: the first ones first, as far as the money of their users goes. */
  place(renewals: readonly WantedRenewal[]): Promise<RenewalPlacement[]> {
    return this.placement.placeRenewals(
      renewals.map(({ quote, renewalId, ruleId, ...renewal }) => ({
        ...newOrder({ ...renewal, kind: 'prolongation', count: 1 }, quote, serviceFor(renewal.userId), {
          provider: this.provider.name,
          idempotency: idempotencyOf(renewal),
          requestId: null,
        }),
        renewalId,
        ruleId,
      })),
    );
  }

  /**
   * Has orders sent that were placed here, or by a process that is gone. Those that are under way already are
   * left alone.
   */
  send(orders: readonly UnsentRenewal[]): void {
    for (const order of orders) {
      if (!this.underWay.has(order.orderId)) {
        this.underWay.set(order.orderId, this.orders.track(this.sendOne(order)));
      }
    }
  }

  /** Orders that were sent here and have not been answered. */
  isSending(): boolean {
    return this.underWay.size > 0;
  }

  /** Waits until one that is under way has been answered, or has left the queue. Never rejects. */
  async untilAnswered(): Promise<void> {
    await Promise.race(this.underWay.values());
  }

  private async sendOne({ orderId, userId, proxyId, isQueued }: UnsentRenewal): Promise<void> {
    try {
      if (isQueued) await this.dispatcher.awaitOutcome(orderId);
      else await this.orders.settleProlongation(orderId, userId, proxyId);
    } catch (error) {
      if (!(error instanceof DomainError)) this.logger.error(`order ${orderId}: ${messageOf(error)}`);
    } finally {
      this.underWay.delete(orderId);
    }
  }
}

/** The service itself orders, for a user, whatever the limits of the user's tokens. */
const serviceFor = (userId: number): Payer => ({ userId, tokenId: null, dailyLimit: null, limitedBy: [] });

function idempotencyOf({
  proxyId,
  dateEndBefore,
  period,
}: Pick<WantedRenewal, 'proxyId' | 'dateEndBefore' | 'period'>): Idempotency {
  const asked = { kind: 'renewal', proxyId, dateEndBefore, period };
  return {
    key: renewalKey(proxyId, dateEndBefore),
    requestHash: createHash('sha256').update(JSON.stringify(asked)).digest(),
  };
}
