import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  CatalogService,
  checkPeriod,
  CountryNotAvailable,
  NotEnoughProxies,
  ServiceUnavailable,
  toIpVersion,
  UnsupportedPeriod,
} from '../catalog';
import { Clock, DomainError, messageOf, requestId, stackOf } from '../common';
import { AppConfig } from '../config';
import { violatedConstraint } from '../database';
import { InsufficientBalance, isInsufficientBalance } from '../ledger';
import {
  Deadline,
  type ProviderCallRecord,
  ProviderOutcomeUnknown,
  type ProviderPurchase,
  ProviderRefused,
  ProviderUnavailable,
  type ProxyType,
  type RefusalReason,
  UpstreamProvider,
} from '../provider';
import { ProxiesService, type ProxyOut, toProxyOut } from '../proxies';
import type { ProlongRequest } from './dto/prolong-request.dto';
import type { PurchaseRequest } from './dto/purchase-request.dto';
import { type Idempotency, readIdempotency } from './idempotency';
import type { Order, OrderKind } from './order.entity';
import { type NewOrder, OrderSteps } from './order-steps';
import {
  CannotBeProlonged,
  IdempotencyKeyReused,
  KeyInProgress,
  OrderBeingConfirmed,
  ProlongationInProgress,
  UnsupportedProxyType,
} from './orders.errors';
import { ReconciliationService } from './reconciliation.service';
import { UpstreamCallLog } from './upstream-call-log';

/** An order that was delivered. */
export interface Delivery {
  readonly orderId: number;
  /** Roubles. */
  readonly charged: string;
  readonly proxies: readonly ProxyOut[];
  /** The answer of an earlier request with the same key. */
  readonly replayed: boolean;
}

type Claim = (dateEndBefore?: Date) => Promise<Deadline>;
type OnCall = (record: ProviderCallRecord) => void;

/** What differs between a purchase and a prolongation. */
interface Work<Answer> {
  readonly kind: OrderKind;
  /** Claims the order, and calls the upstream once. */
  readonly call: (claim: Claim, onCall: OnCall) => Promise<Answer>;
  /** Stores what the call brought. */
  readonly settle: (answer: Answer, onCall: OnCall) => Promise<unknown>;
}

/** How long the caller waits for a look at the upstream after the answer to their order was lost. */
const LOOK_AFTER_LOST_ANSWER_MS = 5000;

const isProxyType = (text: string): text is ProxyType => text === 'http' || text === 'socks';

/**
 * Buying and prolonging: reserve the money, claim the order, call the upstream once, settle. No transaction is open and no
 * connection is held while the upstream is asked. `docs/decisions/0003-orders-and-money.md` says what recovers after each crash.
 */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);

  constructor(
    @Inject(OrderSteps) private readonly steps: OrderSteps,
    @Inject(ReconciliationService) private readonly reconciliation: ReconciliationService,
    @Inject(CatalogService) private readonly catalog: CatalogService,
    @Inject(ProxiesService) private readonly proxies: ProxiesService,
    @Inject(UpstreamProvider) private readonly provider: UpstreamProvider,
    @Inject(UpstreamCallLog) private readonly calls: UpstreamCallLog,
    @Inject(AppConfig) private readonly config: AppConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async buy(userId: number, request: PurchaseRequest, idempotencyKey: string | undefined): Promise<Delivery> {
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
    await this.catalog.checkStock(country, version, count);
    const price = await this.catalog.chargedPrice({ version, period, count });
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
      provider: this.provider.name,
      providerPrice: price.providerPrice,
      idempotency,
      requestId: requestId() ?? null,
    });
    if ('earlier' in placed) return this.replay(placed.earlier);

    const { id, tag } = placed;
    return this.carryOut(id, {
      kind: 'purchase',
      call: async (claim, onCall) =>
        this.provider.buy(
          { tag, country, version, period, count, proxyType },
          { deadline: await claim(), onCall },
        ),
      settle: async (answer, onCall) => {
        const isShort = answer.proxies.length < count;
        await this.steps.deliver(id, isShort ? await this.confirmShort(tag, answer, onCall) : answer);
        this.catalog.noteSale(country, version, answer.proxies.length);
      },
    });
  }

  async prolong(
    userId: number,
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
    const price = await this.catalog.chargedPrice({ version, period, count: 1 });
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
      provider: this.provider.name,
      providerPrice: price.providerPrice,
      idempotency,
      requestId: requestId() ?? null,
    });
    if ('earlier' in placed) return this.replay(placed.earlier);

    const { id } = placed;
    return this.carryOut(id, {
      kind: 'prolongation',
      call: async (claim, onCall) => {
        const { tag, providerProxyId } = await this.steps.getUpstreamIdentity(proxy.id);
        const listed = (await this.provider.proxiesByTag(tag, { onCall, priority: 'order' })).find(
          (one) => one.id === providerProxyId,
        );
        if (!listed) throw new ProviderRefused('not-found');
        const deadline = await claim(listed.dateEnd);
        const answer = await this.provider.prolong(
          { proxyIds: [providerProxyId], period },
          { deadline, onCall },
        );
        const dateEnd = answer.dateEnds.get(providerProxyId);
        if (!dateEnd || dateEnd <= listed.dateEnd) {
          throw new ProviderOutcomeUnknown('prolong was answered yes, and the end did not move');
        }
        return { ...answer, dateEnd };
      },
      settle: (answer) => this.steps.deliverProlongation(id, answer),
    });
  }

  /** The provider handed over fewer than asked. What it lists under the tag decides, should it list more. */
  private async confirmShort(
    tag: string,
    purchase: ProviderPurchase,
    onCall: OnCall,
  ): Promise<ProviderPurchase> {
    const deadline = Deadline.after(LOOK_AFTER_LOST_ANSWER_MS);
    const listed = await this.provider.proxiesByTag(tag, { deadline, onCall, priority: 'order' });
    return listed.length > purchase.proxies.length ? { ...purchase, proxies: listed } : purchase;
  }

  /** Takes an order from its reservation to an answer. */
  private async carryOut<Answer>(orderId: number, { kind, call, settle }: Work<Answer>): Promise<Delivery> {
    let [maySend, answered] = [false, false];
    const claim: Claim = async (dateEndBefore) => {
      await this.provider.waitForTurn('order', this.config.purchaseWaitMs);
      // Counted from before the claim: what the socket is held to ends no later than what the database stores.
      const deadline = Deadline.after(this.config.providerTimeoutMs);
      if (!(await this.steps.claim(orderId, this.config.providerTimeoutMs, dateEndBefore))) {
        throw new ProviderUnavailable('the order was given up while it waited');
      }
      maySend = true;
      return deadline;
    };
    try {
      await this.calls.keep(orderId, async (onCall) => {
        const answer = await call(claim, onCall);
        answered = true;
        await settle(answer, onCall);
      });
    } catch (error) {
      // After a yes, whatever fails says nothing about the purchase: only the money call's own failure may be a no.
      const failure = answered ? new ProviderOutcomeUnknown(`after a yes: ${messageOf(error)}`) : error;
      await this.recover(orderId, kind, failure, maySend);
    }
    return this.orBeingConfirmed(orderId, async () => this.answer(await this.steps.get(orderId)));
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

  /**
   * After a failure: gives the money back when it is certain that nothing was bought, and says why; otherwise looks once and leaves
   * the rest to reconciliation.
   */
  private recover(orderId: number, kind: OrderKind, error: unknown, maySend: boolean): Promise<void> {
    return this.orBeingConfirmed(orderId, async () => {
      if (!maySend || error instanceof ProviderRefused || error instanceof ProviderUnavailable) {
        const reason = error instanceof ProviderRefused ? error.reason : 'unavailable';
        this.logger.warn(`order ${orderId}: nothing was bought: ${messageOf(error)}`);
        await this.refund(orderId, reason);
        throw refusalError(kind, reason);
      }
      this.logger.error(`order ${orderId}: the outcome is unknown: ${messageOf(error)}`);
      await this.lookAtOnce(orderId, error);
    });
  }

  /** When it is certain that nothing was bought, also when reconciliation has begun to look for it meanwhile. */
  private async refund(orderId: number, reason: string): Promise<void> {
    try {
      await this.steps.refund(orderId, reason, ['reserved', 'submitting', 'confirming']);
    } catch (error) {
      const { state } = await this.steps.get(orderId);
      if (state !== 'refunded') throw error;
    }
  }

  private async lookAtOnce(orderId: number, error: unknown): Promise<void> {
    await this.steps.beginConfirming(orderId);
    const order = await this.steps.get(orderId);
    if (order.state !== 'confirming') return;
    const evidence = await this.reconciliation.settle(order, LOOK_AFTER_LOST_ANSWER_MS);
    // By its documentation the upstream does nothing when it answers 429; a listing that agrees is enough.
    if (evidence === 'nothing' && error instanceof ProviderOutcomeUnknown && error.rateLimited) {
      await this.refund(orderId, 'unavailable');
    }
  }

  private async reserve(order: NewOrder): Promise<{ id: number; tag: string } | { earlier: Order }> {
    try {
      return await this.steps.reserve(order);
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (isInsufficientBalance(constraint)) throw new InsufficientBalance();
      if (constraint === 'orders_open_prolongation_key') throw new ProlongationInProgress();
      if (constraint !== 'orders_idempotency_key') throw error;
      const earlier = await this.findEarlier(order.userId, order.idempotency);
      // Refunded between the two looks: for the caller it is in progress, and free at the next attempt.
      if (!earlier) throw new KeyInProgress();
      return { earlier };
    }
  }

  /** @throws IdempotencyKeyReused */
  private async findEarlier(userId: number, idempotency: Idempotency | null): Promise<Order | null> {
    if (!idempotency) return null;
    const earlier = await this.steps.findByKey(userId, idempotency.key);
    if (earlier && !earlier.requestHash?.equals(idempotency.requestHash))
      throw new IdempotencyKeyReused(idempotency.key);
    return earlier;
  }

  private replay(earlier: Order): Promise<Delivery> {
    if (earlier.state === 'reserved' || earlier.state === 'submitting') throw new KeyInProgress();
    return this.answer(earlier, true);
  }

  private async answer(order: Order, replayed = false): Promise<Delivery> {
    switch (order.state) {
      case 'completed':
      case 'partial':
        return {
          orderId: order.id,
          charged: order.captured,
          proxies: await this.deliveredProxies(order),
          replayed,
        };
      case 'refunded':
        throw new ServiceUnavailable();
      case 'reserved':
      case 'submitting':
      case 'confirming':
      case 'review':
        throw new OrderBeingConfirmed(order.id);
    }
  }

  private async deliveredProxies(order: Order): Promise<ProxyOut[]> {
    const now = this.clock.now();
    if (!order.answer) return this.proxies.ofOrder(order);
    return order.answer.map((proxy) =>
      toProxyOut(
        {
          ...proxy,
          proxyType: order.proxyType,
          country: order.country,
          version: order.version,
          dateStart: new Date(proxy.date_start),
          dateEnd: new Date(proxy.date_end),
          descr: null,
        },
        now,
      ),
    );
  }
}

/** What a caller is told when it is certain that nothing was bought. */
function refusalError(kind: OrderKind, reason: RefusalReason | 'unavailable'): DomainError {
  switch (reason) {
    case 'count':
    case 'out-of-stock':
      return new NotEnoughProxies();
    case 'period':
      return new UnsupportedPeriod();
    case 'country':
      return new CountryNotAvailable();
    case 'not-found':
      return kind === 'prolongation' ? new CannotBeProlonged() : new ServiceUnavailable();
    case 'out-of-funds':
    case 'misconfigured':
    case 'request':
    case 'unavailable':
      return new ServiceUnavailable();
  }
}
