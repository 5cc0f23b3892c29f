import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Quote } from '../../catalog';
import { Clock, type IpVersion, type Money, type ProxyType, subtractDecimals } from '../../common';
import { AppConfig } from '../../config';
import { queryRows, sqlList } from '../../database';
import { ProxyProvider } from '../../provider';
import { DispatcherService } from '../dispatch/dispatcher.service';
import { RENEWAL_QUEUE_SECONDS } from '../longest-order';
import { type Idempotency, IS_RENEWAL_SQL, renewalKey } from '../order-keys';
import { PURCHASE_TAG_SQL } from '../order-tag';
import { HoldReleases } from '../transitions/hold-releases';
import { ORDERS_PER_CALL } from '../transitions/order-claims';
import { newOrder, type Payer } from './new-order';
import { OrderChecks } from './order-checks';
import { OrderPlacement, type RenewalPlacement } from './order-placement';
import { RenewalRoom } from './renewal-room';

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

/**
 * How many calls' worth of renewals stand in the queue at most: more than one, so that the provider's rate is
 * used, and few, so that little money is held, and that what customers decide of their renewals holds soon.
 */
const CALLS_QUEUED = 3;
/** The provider takes no more in one call. */
const PROXIES_PER_CALL = 200;

/**
 * The orders of renewals. They are ordinary prolongations, which pass the checks of a customer's own and
 * stand in the same queue, behind all others. Nobody waits for their outcomes, which the rows of the orders
 * tell.
 */
@Injectable()
export class RenewalOrders {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
    private readonly releases: HoldReleases,
    private readonly placement: OrderPlacement,
    private readonly checks: OrderChecks,
    private readonly dispatcher: DispatcherService,
    private readonly provider: ProxyProvider,
  ) {}

  /** Whether the provider takes orders now. */
  canBeSent(): boolean {
    return this.checks.providerRefusal() === null;
  }

  /** What may be placed now. */
  async room(): Promise<RenewalRoom> {
    const [queue] = await queryRows<{ underWay: number; queued: number; cost: string; toList: string[] }>(
      this.dataSource,
      `SELECT count(*) AS "underWay", count(*) FILTER (WHERE state = 'reserved') AS queued,
              coalesce(sum(provider_price) FILTER (WHERE state = 'reserved'), 0) AS cost,
              coalesce(array_agg(DISTINCT ${PURCHASE_TAG_SQL})
                         FILTER (WHERE state = 'reserved' AND date_end_before IS NULL), '{}') AS "toList"
         FROM orders JOIN proxies ON proxies.id = orders.proxy_id
        WHERE state IN ${sqlList(['reserved', 'submitting'])} AND ${IS_RENEWAL_SQL}`,
    );
    if (!queue) throw new Error('a count returned no row');
    const { underWay, queued, cost, toList } = queue;
    const ordersPerCall = this.config.tuning.ordersPerCall ?? ORDERS_PER_CALL;
    const size = CALLS_QUEUED * Math.min(ordersPerCall, PROXIES_PER_CALL);
    const spendable = this.provider.spendable();
    return new RenewalRoom({
      underWay,
      free: size - queued,
      toList,
      spendable: spendable === null ? null : subtractDecimals(spendable, cost),
    });
  }

  /**
   * Places the orders by one statement: the first ones first, as far as the money of their users goes. They
   * wait in the queue for as long as a renewal is of use.
   */
  async place(renewals: readonly WantedRenewal[]): Promise<RenewalPlacement[]> {
    const placements = await this.placement.placeRenewals(
      renewals.map(({ quote, renewalId, ruleId, ...renewal }) => ({
        ...newOrder({ ...renewal, kind: 'prolongation', count: 1 }, quote, serviceFor(renewal.userId), {
          provider: this.provider.name,
          idempotency: idempotencyOf(renewal),
          requestId: null,
        }),
        renewalId,
        ruleId,
        waitSeconds: this.longestWaitSeconds(renewal),
      })),
    );
    this.dispatcher.wake();
    return placements;
  }

  /** Refunds what is queued: while the provider takes no orders, no money is held for them. */
  async withdraw(): Promise<void> {
    const queued = await queryRows<{ id: number }>(
      this.dataSource,
      `SELECT id FROM orders WHERE state = 'reserved' AND ${IS_RENEWAL_SQL}`,
    );
    const ids = queued.map(({ id }) => id);
    await this.releases.releaseHolds(ids, 'unavailable', ['reserved']);
  }

  private longestWaitSeconds({ dateEndBefore }: Pick<WantedRenewal, 'dateEndBefore'>): number {
    const restSeconds = (dateEndBefore.getTime() - this.clock.now().getTime()) / 1000;
    return Math.max(0, Math.min(RENEWAL_QUEUE_SECONDS, restSeconds));
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
