import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../auth';
import {
  CatalogService,
  checkPeriod,
  CountryNotAvailable,
  NotEnoughProxies,
  type Quote,
  ServiceUnavailable,
  toIpVersion,
  UnsupportedPeriod,
} from '../catalog';
import { Clock, DomainError, messageOf, PROXY_TYPES, type ProxyType, requestId, stackOf } from '../common';
import { violatedConstraint } from '../database';
import { InsufficientBalance, isInsufficientBalance, LedgerService } from '../ledger';
import { ProviderClosed, ProviderRefused, ProxyProvider } from '../provider';
import { ProxiesService, type ProxyOut, toProxyOut } from '../proxies';
import { DispatcherService } from './dispatcher.service';
import type { ProlongRequest } from './dto/prolong-request.dto';
import type { PurchaseRequest } from './dto/purchase-request.dto';
import { type Idempotency, readIdempotency } from './idempotency';
import { OrderSettlement } from './order-settlement';
import { type NewOrder, type OrderOutcome, OrderSteps } from './order-steps';
import type { Order, OrderKind } from './order.entity';
import {
  CannotBeProlonged,
  DailyLimitExceeded,
  IdempotencyKeyReused,
  KeyInProgress,
  OrderBeingConfirmed,
  ProlongationInProgress,
  UnsupportedProxyType,
} from './orders.errors';
import { ProlongationDates } from './prolongation-dates';

/** An order that was delivered. */
export interface Delivery {
  readonly orderId: number;
  /** Roubles. */
  readonly charged: string;
  readonly proxies: readonly ProxyOut[];
  /** The answer of an earlier request with the same key. */
  readonly replayed: boolean;
}

/** After this a line that was too long may have become shorter. */
const BUSY_RETRY_AFTER_SECONDS = 5;

const isProxyType = (text: string): text is ProxyType => (PROXY_TYPES as readonly string[]).includes(text);

/**
 * Buying and prolonging: reserve the money, wait in line, and tell what became of the order. No transaction is open and no
 * connection is held while it waits. `docs/decisions/0003-orders-and-money.md` says what recovers after each crash.
 */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);

  constructor(
    private readonly steps: OrderSteps,
    private readonly settlement: OrderSettlement,
    private readonly dispatcher: DispatcherService,
    private readonly dates: ProlongationDates,
    private readonly catalog: CatalogService,
    private readonly ledger: LedgerService,
    private readonly proxies: ProxiesService,
    private readonly provider: ProxyProvider,
    private readonly clock: Clock,
  ) {}

  async buy(
    { userId, tokenId, dailyLimit }: Caller,
    request: PurchaseRequest,
    idempotencyKey: string | undefined,
  ): Promise<Delivery> {
    const { count, period, proxy_type: proxyType } = request;
    const version = toIpVersion(request.version);
    const country = request.country.toLowerCase();
    const idempotency = readIdempotency(idempotencyKey, {
      kind: 'purchase',
      country,
      version,
      period,
      count,
      proxyType,
    });
    const earlier = await this.findEarlier(userId, idempotency);
    if (earlier) return this.replay(earlier);

    if (!isProxyType(proxyType)) throw new UnsupportedProxyType();
    checkPeriod(version, period, 'rental');
    this.assertOpen();
    await this.catalog.checkStock(country, version, count);
    const price = await this.catalog.chargedPrice({ version, period, count }, { userId, country });
    await this.assertAffordable(userId, price);
    const placed = await this.reserve({
      userId,
      kind: 'purchase',
      country,
      version,
      period,
      count,
      proxyType,
      proxyId: null,
      unitPrice: price.unitPrice.toString(),
      markup: price.markup,
      provider: this.provider.name,
      providerPrice: price.providerPrice,
      idempotency,
      requestId: requestId() ?? null,
      tokenId,
      dailyLimit,
    });
    if (typeof placed !== 'number') return this.replay(placed);

    await this.dispatcher.attend(placed);
    return this.outcome(placed);
  }

  async prolong(
    { userId, tokenId, dailyLimit }: Caller,
    proxyId: string,
    { period }: ProlongRequest,
    idempotencyKey: string | undefined,
  ): Promise<Delivery> {
    const idempotency = readIdempotency(idempotencyKey, { kind: 'prolongation', proxyId, period });
    const earlier = await this.findEarlier(userId, idempotency);
    if (earlier) return this.replay(earlier);

    const proxy = await this.proxies.get(userId, proxyId);
    const version = toIpVersion(proxy.version);
    checkPeriod(version, period, 'renewal');
    this.assertOpen();
    const price = await this.catalog.chargedPrice(
      { version, period, count: 1 },
      { userId, country: proxy.country },
    );
    await this.assertAffordable(userId, price);
    const placed = await this.reserve({
      userId,
      kind: 'prolongation',
      country: proxy.country,
      version,
      period,
      count: 1,
      proxyType: proxy.proxyType as ProxyType,
      proxyId: proxy.id,
      unitPrice: price.unitPrice.toString(),
      markup: price.markup,
      provider: this.provider.name,
      providerPrice: price.providerPrice,
      idempotency,
      requestId: requestId() ?? null,
      tokenId,
      dailyLimit,
    });
    if (typeof placed !== 'number') return this.replay(placed);

    if (await this.readDateEnd(placed, proxy.id)) await this.dispatcher.attend(placed);
    return this.outcome(placed);
  }

  /** Before anything is reserved. @throws ServiceUnavailable */
  private assertOpen(quoted?: string): void {
    try {
      this.provider.assertTakesOrders(quoted);
    } catch (error) {
      if (!(error instanceof ProviderClosed)) throw error;
      this.logger.debug(`an order was not taken: ${error.message}`);
      throw new ServiceUnavailable({ retryAfterSeconds: error.retryAfterSeconds });
    }
  }

  /** Our own balance at the provider matters only to who can pay. @throws InsufficientBalance, ServiceUnavailable */
  private async assertAffordable(userId: number, { total, providerPrice }: Quote): Promise<void> {
    try {
      this.assertOpen(providerPrice);
    } catch (error) {
      if (!(await this.ledger.covers(userId, total))) throw new InsufficientBalance();
      throw error;
    }
  }

  /** What tells afterwards whether a prolongation was carried out. False when the order was given back instead. */
  private async readDateEnd(orderId: number, proxyId: number): Promise<boolean> {
    return this.orBeingConfirmed(orderId, async () => {
      try {
        const identity = await this.steps.getProviderIdentity(proxyId);
        if (await this.dates.note({ orderId, ...identity })) return true;
        await this.settlement.refund([orderId], 'not-found', ['reserved']);
      } catch (error) {
        // Nothing was sent that costs money.
        this.logger.warn(`order ${orderId}: the end of its proxy could not be read: ${messageOf(error)}`);
        const reason = error instanceof ProviderRefused ? error.reason : 'unavailable';
        await this.settlement.refund([orderId], reason, ['reserved']);
      }
      return false;
    });
  }

  private outcome(orderId: number): Promise<Delivery> {
    return this.orBeingConfirmed(orderId, async () => this.answer(await this.steps.getOutcome(orderId)));
  }

  /** Whatever fails once an order is placed, its caller is told its number: its outcome can be asked for. */
  private async orBeingConfirmed<Result>(orderId: number, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DomainError) throw error;
      this.logger.error(`order ${orderId}: left to reconciliation`, stackOf(error));
      throw new OrderBeingConfirmed(orderId);
    }
  }

  /** Gives the number of the order, or the earlier one that has its key. */
  private async reserve(order: NewOrder): Promise<number | Order> {
    try {
      return await this.steps.reserve(order);
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (isInsufficientBalance(constraint)) throw new InsufficientBalance();
      if (constraint === 'token_spending_limit_check') throw new DailyLimitExceeded();
      if (constraint === 'orders_open_prolongation_key') throw new ProlongationInProgress();
      if (constraint !== 'orders_idempotency_key') throw error;
      const earlier = await this.findEarlier(order.userId, order.idempotency);
      // Refunded between the two looks: for the caller it is in progress, and free at the next attempt.
      if (!earlier) throw new KeyInProgress();
      return earlier;
    }
  }

  /** @throws IdempotencyKeyReused */
  private async findEarlier(userId: number, idempotency: Idempotency | null): Promise<Order | null> {
    if (!idempotency) return null;
    const earlier = await this.steps.findByKey(userId, idempotency.key);
    if (earlier && !earlier.requestHash?.equals(idempotency.requestHash)) {
      throw new IdempotencyKeyReused(idempotency.key);
    }
    return earlier;
  }

  private replay(earlier: Order): Promise<Delivery> {
    if (earlier.state === 'reserved' || earlier.state === 'submitting') throw new KeyInProgress();
    return this.answer(earlier, true);
  }

  private async answer(order: OrderOutcome, replayed = false): Promise<Delivery> {
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
        throw refusalError(order.kind, order.failure);
      case 'reserved':
      case 'submitting':
      case 'confirming':
      case 'review':
        throw new OrderBeingConfirmed(order.id);
    }
  }

  private async deliveredProxies(order: OrderOutcome, replayed: boolean): Promise<ProxyOut[]> {
    const now = this.clock.now();
    if (!order.answer) return this.proxies.ofOrder(order);
    const withdrawals = replayed ? await this.proxies.withdrawals(order.answer.map(({ id }) => id)) : null;
    return order.answer.map((proxy) =>
      toProxyOut(
        {
          ...proxy,
          proxyType: order.proxyType,
          country: order.country,
          version: order.version,
          dateStart: new Date(proxy.date_start),
          dateEnd: new Date(proxy.date_end),
          withdrawnAt: withdrawals?.get(proxy.id) ?? null,
          descr: null,
        },
        now,
      ),
    );
  }
}

/** What a caller is told when it is certain that nothing was bought. */
function refusalError(kind: OrderKind, failure: string | null): DomainError {
  switch (failure) {
    case 'count':
    case 'out-of-stock':
      return new NotEnoughProxies();
    case 'period':
      return new UnsupportedPeriod();
    case 'country':
      return new CountryNotAvailable();
    case 'not-found':
      return kind === 'prolongation' ? new CannotBeProlonged() : new ServiceUnavailable();
    case 'busy':
      return new ServiceUnavailable({ retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS });
    case null:
    default:
      return new ServiceUnavailable();
  }
}
