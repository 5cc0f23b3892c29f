import { Injectable, Logger } from '@nestjs/common';
import { DataSource, QueryFailedError } from 'typeorm';
import type { Quote, RenewalOffer } from '../../catalog';
import {
  Clock,
  compareDecimals,
  messageOf,
  type Money,
  type ProxyType,
  subtractDecimals,
} from '../../common';
import { AppConfig } from '../../config';
import { mayHaveCommitted, queryRow, queryRows, sqlList } from '../../database';
import { PROXIES_PER_CALL, ProxyProvider } from '../../provider';
import { DispatcherService } from '../dispatch/dispatcher.service';
import { RENEWAL_QUEUE_SECONDS } from '../longest-order';
import { hashOf, renewalKey } from '../order-keys';
import { PURCHASE_REFERENCE_SQL } from '../order-queries';
import { IS_RENEWAL_SQL } from '../order-states';
import { OrderCancellations } from '../transitions/order-cancellations';
import { ORDERS_PER_CALL } from '../transitions/order-claims';
import { newOrder, type Payer } from './new-order';
import { OrderChecks } from './order-checks';
import { OrderPlacement, type RenewalPlacement } from './order-placement';

export interface WantedRenewal extends RenewalOffer {
  readonly proxyId: number;
  readonly proxyType: ProxyType;
  readonly renewalId: number;
  readonly dateEndBefore: Date;
  readonly ruleId: number;
  readonly maxPrice: Money | null;
  /** Whether the last sweep has confirmed the expiry, so that the call needs no listing first. */
  readonly isConfirmed: boolean;
  readonly purchaseReference: string;
  readonly quote: Quote;
}

/** Queued renewals fill at most three calls: enough to use the provider's rate without holding much money. */
const CALLS_QUEUED = 3;
/** Maximum number of purchases to list for queued renewals. Each requires one listing. */
const PURCHASES_TO_LIST = 10;

export class RenewalCapacity {
  constructor(
    readonly underWay: number,
    private free: number,
    /** Roubles left to spend at the provider on further renewals; `null` if unknown. */
    private spendable: string | null,
    /** Order references of purchases to look up in the provider's listing before prolonging their rentals. */
    private readonly toList: Set<string>,
  ) {}

  isFull(): boolean {
    return this.free <= 0;
  }

  covers(cost: string): boolean {
    return this.spendable === null || compareDecimals(this.spendable, cost) >= 0;
  }

  /** Reserves capacity for one more order. @returns false if none is left */
  take({ isConfirmed, purchaseReference, quote }: WantedRenewal): boolean {
    const isListed = isConfirmed || this.toList.has(purchaseReference);
    if (!isListed && this.toList.size >= PURCHASES_TO_LIST) return false;
    if (this.isFull() || !this.covers(quote.providerPrice)) return false;
    if (!isListed) this.toList.add(purchaseReference);
    if (this.spendable !== null) this.spendable = subtractDecimals(this.spendable, quote.providerPrice);
    this.free -= 1;
    return true;
  }
}

/** Renewals are prolongations that queue behind all other orders. No request waits for them. */
@Injectable()
export class RenewalOrders {
  private readonly logger = new Logger(RenewalOrders.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
    private readonly cancellations: OrderCancellations,
    private readonly placement: OrderPlacement,
    private readonly checks: OrderChecks,
    private readonly dispatcher: DispatcherService,
    private readonly provider: ProxyProvider,
  ) {}

  canBeSent(): boolean {
    return this.checks.providerRefusal() === null;
  }

  async capacity(): Promise<RenewalCapacity> {
    const { underWay, queued, cost, toList } = await queryRow<{
      underWay: number;
      queued: number;
      cost: string;
      toList: string[];
    }>(
      this.dataSource,
      `SELECT count(*) AS "underWay", count(*) FILTER (WHERE state = 'reserved') AS queued,
              coalesce(sum(provider_price) FILTER (WHERE state = 'reserved'), 0) AS cost,
              coalesce(array_agg(DISTINCT ${PURCHASE_REFERENCE_SQL})
                         FILTER (WHERE state = 'reserved' AND date_end_before IS NULL), '{}') AS "toList"
         FROM orders JOIN proxies ON proxies.id = orders.proxy_id
        WHERE state IN ${sqlList(['reserved', 'submitting'])} AND ${IS_RENEWAL_SQL}`,
    );
    const ordersPerCall = this.config.tuning.ordersPerCall ?? ORDERS_PER_CALL;
    const size = CALLS_QUEUED * Math.min(ordersPerCall, PROXIES_PER_CALL.prolongation);
    const spendable = this.provider.spendable();
    const left = spendable === null ? null : subtractDecimals(spendable, cost);
    return new RenewalCapacity(underWay, size - queued, left, new Set(toList));
  }

  /** If the statement fails, or would wait for a locked account, each user's orders are placed separately. */
  async place(renewals: readonly WantedRenewal[]): Promise<RenewalPlacement[]> {
    const placements = await this.placeTogether(renewals).catch(async (error: unknown) => {
      throwUnlessRefused(error);
      const byUser = new Map<number, RenewalPlacement[]>();
      for (const { userId } of renewals) {
        if (byUser.has(userId)) continue;
        byUser.set(userId, await this.placeOfUser(renewals.filter((one) => one.userId === userId)));
      }
      return renewals.map(({ userId }) => byUser.get(userId)?.shift() ?? NOT_NOW);
    });
    this.dispatcher.wake('prolongation');
    return placements;
  }

  private async placeOfUser(renewals: readonly WantedRenewal[]): Promise<RenewalPlacement[]> {
    try {
      return await this.placeTogether(renewals);
    } catch (error) {
      throwUnlessRefused(error);
      this.logger.error(`user ${renewals[0]?.userId}: renewals were not placed: ${messageOf(error)}`);
      return [];
    }
  }

  private placeTogether(renewals: readonly WantedRenewal[]): Promise<RenewalPlacement[]> {
    return this.placement.placeRenewals(
      renewals.map(({ quote, renewalId, ruleId, ...renewal }) => {
        const { proxyId, dateEndBefore, period } = renewal;
        const item = { ...renewal, kind: 'prolongation', count: 1 } as const;
        const order = newOrder(item, quote, serviceFor(renewal.userId), {
          provider: this.provider.name,
          idempotency: {
            key: renewalKey(proxyId, dateEndBefore),
            requestHash: hashOf({ kind: 'renewal', proxyId, dateEndBefore, period }),
          },
          requestId: null,
        });
        return { ...order, renewalId, ruleId, waitSeconds: this.longestWaitSeconds(dateEndBefore) };
      }),
    );
  }

  /** Cancels queued renewals, so that no money is held for them while the provider accepts no orders. */
  async withdraw(): Promise<void> {
    const queued = await queryRows<{ id: number }>(
      this.dataSource,
      `SELECT id FROM orders WHERE state = 'reserved' AND ${IS_RENEWAL_SQL}`,
    );
    const ids = queued.map(({ id }) => id);
    try {
      await this.cancellations.cancelOrders(ids, 'unavailable', ['reserved']);
    } catch (error) {
      throwUnlessRefused(error);
      this.logger.warn(`renewals stay in the queue until the next run: ${messageOf(error)}`);
    }
  }

  private longestWaitSeconds(dateEndBefore: Date): number {
    const restSeconds = (dateEndBefore.getTime() - this.clock.now().getTime()) / 1000;
    return Math.max(0, Math.min(RENEWAL_QUEUE_SECONDS, restSeconds));
  }
}

const NOT_NOW: RenewalPlacement = { id: null, obstacle: 'not-now' };

/** Rethrows an error, unless it is certain that the database refused the statement. */
function throwUnlessRefused(error: unknown): void {
  if (!(error instanceof QueryFailedError) || mayHaveCommitted(error)) throw error;
}

/** The service's own orders ignore the limits of the user's tokens. */
const serviceFor = (userId: number): Payer => ({ userId, tokenId: null, dailyLimit: null, limitedBy: [] });
