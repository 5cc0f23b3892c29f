import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../auth';
import { CatalogService, checkPeriod, NotEnoughProxies, toIpVersion } from '../../catalog';
import {
  type DomainError,
  type Money,
  PROXY_TYPES,
  type ProxyType,
  requestId,
  ServiceUnavailable,
} from '../../common';
import { StatementOutcomeUnknown } from '../../database';
import { InsufficientBalance } from '../../ledger';
import { ProviderClosed, ProxyProvider } from '../../provider';
import { ProxiesService } from '../../proxies';
import { type Idempotency, readIdempotency } from '../order-keys';
import { OrderQueries } from '../order-queries';
import type { OrderKind } from '../order-states';
import {
  DailyLimitExceeded,
  IdempotencyKeyInProgress,
  OrderBeingConfirmed,
  PriceAboveMax,
  ProlongationInProgress,
  UnsupportedProxyType,
} from '../orders.errors';
import { ordersAreShut } from '../refusals';
import { type Checks, IN_EARNEST } from './checks';
import type { ProlongRequest, PurchaseRequest } from './dto/orders.dto';
import { newOrder, type NewOrder, type OrderedItem } from './new-order';
import { OrderPlacement, type PlacementRefusal } from './order-placement';

/** The part of the stock that an order takes. */
type OrderedStock = Pick<OrderedItem, 'country' | 'version' | 'count'>;

export interface OrderRequest {
  readonly kind: OrderKind;
  readonly caller: Caller;
  readonly idempotency: Idempotency | null;
  /** Finds the ordered item, by the checks that need no price. @throws DomainError */
  readonly findItem: (checks: Checks) => Promise<OrderedItem>;
}

/** The error that a caller gets for each reason not to place an order. */
export const PLACEMENT_REFUSALS: Readonly<Record<PlacementRefusal, (order: NewOrder) => DomainError>> = {
  recovering: ordersAreShut,
  'key-in-use': () => new IdempotencyKeyInProgress(),
  'prolongation-open': () => new ProlongationInProgress(),
  'above-max-price': ({ total, maxPrice }) => new PriceAboveMax(total, maxPrice ?? total),
  'insufficient-balance': () => new InsufficientBalance(),
  'daily-limit': () => new DailyLimitExceeded(),
};

/** The error of a caller when placing failed: the cause, or that the order may have been placed. */
export const placementFailure = (error: unknown, { requestId: id }: NewOrder): unknown =>
  error instanceof StatementOutcomeUnknown ? new OrderBeingConfirmed({ requestId: id }) : error;

const isProxyType = (text: string): text is ProxyType => (PROXY_TYPES as readonly string[]).includes(text);

/**
 * All checks before an order is placed, also in a dry run. They write nothing, and make no call to the
 * provider that costs money.
 */
@Injectable()
export class OrderChecks {
  private readonly logger = new Logger(OrderChecks.name);

  constructor(
    private readonly placement: OrderPlacement,
    private readonly queries: OrderQueries,
    private readonly catalog: CatalogService,
    private readonly proxies: ProxiesService,
    private readonly provider: ProxyProvider,
  ) {}

  /** @throws IdempotencyKeyInvalid */
  readPurchase(caller: Caller, request: PurchaseRequest, idempotencyKey: string | undefined): OrderRequest {
    const { count, period, proxy_type: proxyType, max_price: maxPrice } = request;
    const version = toIpVersion(request.version);
    const country = request.country.toLowerCase();
    // Guards are not part of the key's request: with another guard it is still the same order.
    const item = { kind: 'purchase', country, version, period, count, proxyType } as const;
    return {
      kind: 'purchase',
      caller,
      idempotency: readIdempotency(idempotencyKey, item),
      findItem: async (checks) => {
        if (!isProxyType(proxyType)) throw new UnsupportedProxyType();
        this.catalog.checkRentalPeriod(version, period);
        await checks.run(() => this.assertProviderTakesOrders());
        await checks.run(() => this.checkStock(item, request.allow_partial));
        return { ...item, proxyType, proxyId: null, maxPrice };
      },
    };
  }

  /** @throws IdempotencyKeyInvalid */
  readProlongation(
    caller: Caller,
    proxyId: string,
    { period, max_price: maxPrice }: ProlongRequest,
    idempotencyKey: string | undefined,
  ): OrderRequest {
    return {
      kind: 'prolongation',
      caller,
      idempotency: readIdempotency(idempotencyKey, { kind: 'prolongation', proxyId, period }),
      findItem: async (checks) => {
        const { id, country, proxyType, ...proxy } = await this.proxies.get(caller.userId, proxyId);
        const version = toIpVersion(proxy.version);
        checkPeriod(version, period, 'renewal');
        await checks.run(() => this.assertProviderTakesOrders());
        const item = { kind: 'prolongation', country, version, period, count: 1, proxyId: id } as const;
        return { ...item, proxyType: proxyType as ProxyType, maxPrice };
      },
    };
  }

  /** Checks a request up to the order with its price, which can then be placed. @throws DomainError */
  async prepare({ caller, idempotency, findItem }: OrderRequest, checks: Checks): Promise<NewOrder> {
    const item = await findItem(checks);
    const use = checks === IN_EARNEST ? 'order' : 'preview';
    const buyer = { userId: caller.userId, country: item.country };
    const quote = await this.catalog.chargedPrice(item, buyer, use);
    const provider = this.provider.name;
    return newOrder(item, quote, caller, { provider, idempotency, requestId: requestId() ?? null });
  }

  /**
   * Checks whether an order would be placed now, without placing it, and then whether the provider would
   * accept it.
   *
   * @returns the caller's available balance
   * @throws DomainError
   */
  async checkPlacement(order: NewOrder, checks: Checks): Promise<Money> {
    const { available, refusals } = await this.placement.assess(order);
    for (const refusal of refusals) {
      await checks.run(() => {
        throw PLACEMENT_REFUSALS[refusal](order);
      });
    }
    await checks.run(() => this.assertProviderTakesOrders(order.providerPrice));
    return available;
  }

  /**
   * A caller whose order would not be placed gets the reason, regardless of our own balance at the provider.
   *
   * @throws DomainError
   */
  async assertProviderAffords(order: NewOrder): Promise<void> {
    if (this.providerRefusal(order.providerPrice)) await this.checkPlacement(order, IN_EARNEST);
  }

  /**
   * For an order without partial delivery, the provider's stock is read, less the proxies of the queue before
   * it. Running orders may be subtracted twice: an unnecessary refusal is better than a short delivery.
   *
   * @throws CountryNotAvailable, NotEnoughProxies, ServiceUnavailable
   */
  private async checkStock({ country, version, count }: OrderedStock, allowPartial: boolean): Promise<void> {
    if (allowPartial) return this.catalog.checkStock(country, version, count);
    const stock = await this.catalog.stockNow(country, version);
    if (stock - (await this.queries.countQueuedProxies(country, version)) < count) {
      throw new NotEnoughProxies();
    }
  }

  /** @throws ServiceUnavailable */
  assertProviderTakesOrders(quoted?: string): void {
    const refusal = this.providerRefusal(quoted);
    if (refusal) throw refusal;
  }

  /** The reason why the provider accepts no orders now, or not this one; `null` if it accepts them. */
  providerRefusal(quoted?: string): ServiceUnavailable | null {
    try {
      this.provider.assertTakesOrders(quoted);
      return null;
    } catch (error) {
      if (!(error instanceof ProviderClosed)) throw error;
      this.logger.debug(`an order was refused: ${error.message}`);
      return new ServiceUnavailable({ retryAfterSeconds: error.retryAfterSeconds });
    }
  }
}
