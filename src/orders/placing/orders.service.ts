import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../auth';
import { CatalogService, checkPeriod, ServiceUnavailable, toIpVersion } from '../../catalog';
import { Clock, DomainError, messageOf, PROXY_TYPES, type ProxyType, requestId, stackOf } from '../../common';
import { StatementOutcomeUnknown } from '../../database';
import { InsufficientBalance } from '../../ledger';
import { ProviderClosed, ProviderRefused, ProxyProvider } from '../../provider';
import { ProxiesService, type ProxyOut, toProxyOut } from '../../proxies';
import { DispatcherService } from '../dispatch/dispatcher.service';
import { ProlongationDates } from '../dispatch/prolongation-dates';
import { type OrderOutcome, OrderQueries } from '../order-queries';
import { OrderTransitions } from '../order-transitions';
import type { Order } from '../order.entity';
import {
  DailyLimitExceeded,
  IdempotencyKeyReused,
  KeyInProgress,
  OrderBeingConfirmed,
  PriceAboveMax,
  ProlongationInProgress,
  UnsupportedProxyType,
} from '../orders.errors';
import type { ProlongRequest } from './dto/prolong-request.dto';
import type { PurchaseRequest } from './dto/purchase-request.dto';
import { type Idempotency, readIdempotency } from './idempotency';
import { type NewOrder, OrderPlacement, type PlacementRefusal } from './order-placement';
import { refusalOf } from './refusals';

/** An order that was delivered. */
export interface Delivery {
  readonly orderId: number;
  /** Roubles. */
  readonly charged: string;
  readonly proxies: readonly ProxyOut[];
  /** Whether this is the answer of an earlier request with the same idempotency key. */
  readonly replayed: boolean;
}

/** What a request orders, before it has a price. */
type OrderedItem = Pick<
  NewOrder,
  'kind' | 'country' | 'version' | 'period' | 'count' | 'proxyType' | 'proxyId' | 'maxPrice'
>;

/** What a caller is told for each reason for which an order was not placed. */
const PLACEMENT_REFUSALS: Readonly<Record<PlacementRefusal, (order: NewOrder) => DomainError>> = {
  'key-in-use': () => new KeyInProgress(),
  'prolongation-open': () => new ProlongationInProgress(),
  'above-max-price': ({ total, maxPrice }) => new PriceAboveMax(total, maxPrice ?? total),
  'insufficient-balance': () => new InsufficientBalance(),
  'daily-limit': () => new DailyLimitExceeded(),
};

/** The description of a proxy in a replay after the replay window. */
const CREDENTIALS_GONE = 'The login and the password are no longer kept';

const isProxyType = (text: string): text is ProxyType => (PROXY_TYPES as readonly string[]).includes(text);

/**
 * Buying and prolonging, from the request to its answer: hold the money, wait in the queue, and tell what
 * became of the order. No transaction is open and no connection is held while the request waits.
 * `docs/decisions/0003-orders-and-money.md` says what recovers after each crash.
 */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);
  private readonly inProgress = new Set<Promise<Delivery>>();

  constructor(
    private readonly placement: OrderPlacement,
    private readonly transitions: OrderTransitions,
    private readonly queries: OrderQueries,
    private readonly dispatcher: DispatcherService,
    private readonly dates: ProlongationDates,
    private readonly catalog: CatalogService,
    private readonly proxies: ProxiesService,
    private readonly provider: ProxyProvider,
    private readonly clock: Clock,
  ) {}

  buy(caller: Caller, request: PurchaseRequest, idempotencyKey: string | undefined): Promise<Delivery> {
    return this.track(this.purchase(caller, request, idempotencyKey));
  }

  prolong(
    caller: Caller,
    proxyId: string,
    request: ProlongRequest,
    idempotencyKey: string | undefined,
  ): Promise<Delivery> {
    return this.track(this.prolongation(caller, proxyId, request, idempotencyKey));
  }

  /** Waits until no order is in progress, also for those whose callers have gone. */
  async untilIdle(): Promise<void> {
    while (this.inProgress.size > 0) await Promise.allSettled(this.inProgress);
    await this.dispatcher.untilIdle();
  }

  private async track(order: Promise<Delivery>): Promise<Delivery> {
    this.inProgress.add(order);
    try {
      return await order;
    } finally {
      this.inProgress.delete(order);
    }
  }

  private async purchase(
    caller: Caller,
    request: PurchaseRequest,
    idempotencyKey: string | undefined,
  ): Promise<Delivery> {
    const { count, period, proxy_type: proxyType, max_price: maxPrice } = request;
    const version = toIpVersion(request.version);
    const country = request.country.toLowerCase();
    // A guard is no part of what the key stands for: with another one it is still the same order.
    const asked = { kind: 'purchase', country, version, period, count, proxyType } as const;
    const idempotency = readIdempotency(idempotencyKey, asked);
    const earlier = await this.findEarlierOrder(caller.userId, idempotency);
    if (earlier) return this.replay(earlier);
    if (caller.overLimit) throw caller.overLimit;

    if (!isProxyType(proxyType)) throw new UnsupportedProxyType();
    this.catalog.checkRentalPeriod(version, period);
    this.assertProviderTakesOrders();
    await this.catalog.checkStock(country, version, count);
    return this.carryOut(caller, { ...asked, proxyType, proxyId: null, maxPrice }, idempotency);
  }

  private async prolongation(
    caller: Caller,
    proxyId: string,
    { period, max_price: maxPrice }: ProlongRequest,
    idempotencyKey: string | undefined,
  ): Promise<Delivery> {
    const idempotency = readIdempotency(idempotencyKey, { kind: 'prolongation', proxyId, period });
    const earlier = await this.findEarlierOrder(caller.userId, idempotency);
    if (earlier) return this.replay(earlier);
    if (caller.overLimit) throw caller.overLimit;

    const { id, country, proxyType, ...proxy } = await this.proxies.get(caller.userId, proxyId);
    const version = toIpVersion(proxy.version);
    checkPeriod(version, period, 'renewal');
    this.assertProviderTakesOrders();
    const item = { kind: 'prolongation', country, version, period, count: 1, proxyId: id, maxPrice } as const;
    return this.carryOut(caller, { ...item, proxyType: proxyType as ProxyType }, idempotency);
  }

  /** Prices the order, holds its money, and waits for its outcome. */
  private async carryOut(
    { userId, tokenId, dailyLimit, limitedBy }: Caller,
    item: OrderedItem,
    idempotency: Idempotency | null,
  ): Promise<Delivery> {
    const quote = await this.catalog.chargedPrice(item, { userId, country: item.country });
    const order: NewOrder = {
      ...item,
      ...quote,
      userId,
      provider: this.provider.name,
      idempotency,
      requestId: requestId() ?? null,
      tokenId,
      dailyLimit,
      limitedBy,
    };
    await this.assertProviderAffords(order);
    const placed = await this.placeOnce(order);
    if (typeof placed !== 'number') return this.replay(placed);

    const isQueued = item.proxyId === null || (await this.readDateEnd(placed, userId, item.proxyId));
    const settled = isQueued ? await this.dispatcher.awaitOutcome(placed) : undefined;
    return this.namingTheOrder(placed, async () =>
      this.toDelivery(settled ?? (await this.queries.getOutcome(placed))),
    );
  }

  /** Refuses an order before anything is held for it. @throws ServiceUnavailable */
  private assertProviderTakesOrders(quoted?: string): void {
    try {
      this.provider.assertTakesOrders(quoted);
    } catch (error) {
      if (!(error instanceof ProviderClosed)) throw error;
      this.logger.debug(`an order was refused: ${error.message}`);
      throw new ServiceUnavailable({ retryAfterSeconds: error.retryAfterSeconds });
    }
  }

  /**
   * A caller whose order would be refused is told why, whatever the state of our own balance at the provider.
   *
   * @throws DomainError
   */
  private async assertProviderAffords(order: NewOrder): Promise<void> {
    try {
      this.assertProviderTakesOrders(order.providerPrice);
    } catch (error) {
      const [refusal] = await this.placement.findRefusals(order);
      throw refusal === undefined ? error : PLACEMENT_REFUSALS[refusal](order);
    }
  }

  /**
   * Reads when the rental ends, which tells afterwards whether the prolongation was carried out. False when
   * that failed and the order was refunded: nothing that costs money has been sent.
   */
  private readDateEnd(orderId: number, userId: number, proxyId: number): Promise<boolean> {
    return this.namingTheOrder(orderId, async () => {
      try {
        const identity = await this.queries.getProviderIdentity(proxyId);
        const answer = await this.dates.read({ orderId, userId, ...identity });
        if (answer === 'stored') return true;
        const reason = answer === 'busy' ? 'busy' : 'not-found';
        await this.transitions.leaveQueue({ orderId, reason });
      } catch (error) {
        this.logger.warn(`order ${orderId}: the end of its proxy could not be read: ${messageOf(error)}`);
        const reason = error instanceof ProviderRefused ? error.reason : 'unavailable';
        await this.transitions.leaveQueue({ orderId, reason });
      }
      return false;
    });
  }

  /**
   * Whatever fails once an order is placed, its caller is told the order's id, by which its outcome can be
   * asked for.
   */
  private async namingTheOrder<Result>(orderId: number, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DomainError) throw error;
      this.logger.error(`order ${orderId}: left to reconciliation`, stackOf(error));
      throw new OrderBeingConfirmed({ orderId });
    }
  }

  /** The id of the new order, or the earlier order that has its idempotency key. */
  private async placeOnce(order: NewOrder): Promise<number | Order> {
    const { id, refusal } = await this.placement.place(order).catch((error: unknown) => {
      if (!(error instanceof StatementOutcomeUnknown)) throw error;
      this.logger.error(messageOf(error));
      throw new OrderBeingConfirmed({ requestId: order.requestId });
    });
    if (refusal === null) return id;
    // Another request with the key was faster. It may have been refunded since: then the caller's next
    // attempt finds the key free.
    const earlier =
      refusal === 'key-in-use' && (await this.findEarlierOrder(order.userId, order.idempotency));
    if (earlier) return earlier;
    throw PLACEMENT_REFUSALS[refusal](order);
  }

  /** @throws IdempotencyKeyReused */
  private async findEarlierOrder(userId: number, idempotency: Idempotency | null): Promise<Order | null> {
    if (!idempotency) return null;
    const earlier = await this.queries.findByKey(userId, idempotency.key);
    if (earlier && !earlier.requestHash?.equals(idempotency.requestHash)) {
      throw new IdempotencyKeyReused(idempotency.key);
    }
    return earlier;
  }

  private replay(earlier: Order): Promise<Delivery> {
    if (earlier.state === 'reserved' || earlier.state === 'submitting') throw new KeyInProgress(earlier.id);
    return this.toDelivery(earlier, true);
  }

  private async toDelivery(order: OrderOutcome, replayed = false): Promise<Delivery> {
    switch (order.state) {
      case 'completed':
      case 'partial':
        return {
          orderId: order.id,
          charged: order.captured,
          proxies: await this.deliveredProxies(order, replayed),
          replayed,
        };
      case 'refunded':
        throw refusalOf(order.kind, order.failure);
      case 'reserved':
      case 'submitting':
      case 'confirming':
      case 'review':
        throw new OrderBeingConfirmed({ orderId: order.id });
    }
  }

  private async deliveredProxies(order: OrderOutcome, replayed: boolean): Promise<ProxyOut[]> {
    const now = this.clock.now();
    if (!order.answer) return this.proxies.ofOrder(order);
    const withdrawals = replayed ? await this.proxies.withdrawals(order.answer.map(({ id }) => id)) : null;
    // A thousand times over: fields that are added to a spread object take ten times as long.
    return order.answer.map(({ id, host, port, login, password, descr, date_start: start, date_end: end }) =>
      toProxyOut(
        {
          id,
          host,
          port,
          login: login ?? '',
          password: password ?? '',
          proxyType: order.proxyType,
          country: order.country,
          version: order.version,
          dateStart: start === null ? null : new Date(start),
          dateEnd: end === null ? null : new Date(end),
          withdrawnAt: withdrawals?.get(id) ?? null,
          descr: password === undefined ? CREDENTIALS_GONE : (descr ?? null),
        },
        now,
      ),
    );
  }
}
