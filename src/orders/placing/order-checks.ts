import { Injectable, Logger } from '@nestjs/common';
import {
  CatalogService,
  assertPeriodSold,
  type FirstRead,
  NotEnoughProxies,
  type Quote,
  toIpVersion,
} from '../../catalog';
import { DomainError, Money, PROXY_TYPES, type ProxyType, requestId, ServiceUnavailable } from '../../common';
import { StatementOutcomeUnknown } from '../../database';
import { InsufficientBalance } from '../../ledger';
import { ProviderClosed, ProxyProvider } from '../../provider';
import { ProxiesService } from '../../proxies';
import { closedForMaintenance } from '../maintenance';
import { OrderQueries } from '../order-queries';
import {
  CannotBeProlonged,
  DailyLimitExceeded,
  IdempotencyKeyInProgress,
  OrderBeingConfirmed,
  PriceAboveMax,
  ProlongationInProgress,
  UnsupportedProxyType,
} from '../orders.errors';
import { newOrder, type NewOrder, type OrderedItem } from './new-order';
import { OrderPlacement, type PlacementRefusal } from './order-placement';
import type { OrderRequest } from './order-request';

export interface PreparedOrder {
  readonly order: NewOrder;
  /** `null` if not read. */
  readonly available: Money | null;
}

export const ERROR_OF_REFUSAL: Readonly<Record<PlacementRefusal, (order: NewOrder) => DomainError>> = {
  'closed-for-maintenance': closedForMaintenance,
  'key-in-use': () => new IdempotencyKeyInProgress(),
  'proxy-refunded': () => new CannotBeProlonged(),
  'prolongation-open': () => new ProlongationInProgress(),
  'above-max-price': ({ total, maxPrice }) => new PriceAboveMax(total, maxPrice ?? total),
  'insufficient-balance': () => new InsufficientBalance(),
  'daily-limit': () => new DailyLimitExceeded(),
};

export const placementFailure = (error: unknown, { requestId: id }: NewOrder): unknown =>
  error instanceof StatementOutcomeUnknown ? new OrderBeingConfirmed({ requestId: id }) : error;

const isProxyType = (text: string): text is ProxyType => (PROXY_TYPES as readonly string[]).includes(text);

/** Quote used while the price is unknown. Any positive balance covers it. */
const UNKNOWN_QUOTE: Quote = {
  unitPrice: Money.zero,
  total: Money.zero,
  providerPrice: '0',
  markup: { percent: '0', ruleId: null },
};

async function orRefusal<Result>(work: () => Promise<Result>): Promise<Result | DomainError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

/** The checks write nothing, and make no call that costs money. */
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

  /**
   * Yields refusals in the sequence in which callers see them. Placing an order stops at the first one; a dry
   * run collects all. `place_orders.sql` repeats the checks of `order_refusals.sql`, so this method may skip
   * them.
   * @throws DomainError
   */
  async *of(request: OrderRequest, use: 'order' | 'preview'): AsyncGenerator<DomainError, PreparedOrder> {
    const { caller, idempotency } = request;
    const { userId } = caller;
    const item = await this.findItem(request);
    const closed = this.providerRefusal();
    if (closed) yield closed;
    const toOrder = (quote: Quote): NewOrder =>
      newOrder(item, quote, caller, {
        provider: this.provider.name,
        idempotency,
        requestId: requestId() ?? null,
      });
    const buyer = { userId, country: item.country };

    const isWhole = request.kind === 'purchase' && !request.allowPartial;
    // Without partial delivery, a shortage in the stored stock causes no refusal yet, because the current
    // stock is read below.
    const short =
      item.kind === 'purchase'
        ? await orRefusal(() =>
            this.catalog.assertStock(item, userId, async () =>
              use === 'preview'
                ? { priority: 'rest' }
                : this.firstRead(toOrder, this.catalog.knownPrice(item, buyer)),
            ),
          )
        : undefined;
    if (short && !(isWhole && short instanceof NotEnoughProxies)) yield short;
    const quote = await orRefusal(() => this.catalog.chargedPrice(item, buyer, use));
    if (quote instanceof DomainError) {
      if (short) yield short;
      throw quote;
    }
    const order = toOrder(quote);
    const unaffordable = this.providerRefusal(order.providerPrice);

    let available: Money | null = null;
    let refusals: readonly DomainError[] = [];
    if (use === 'preview' || isWhole || unaffordable) {
      const assessed = await this.placement.assess(order);
      available = assessed.available;
      refusals = assessed.refusals.map((refusal) => ERROR_OF_REFUSAL[refusal](order));
    }
    if (isWhole && refusals.length > 0) {
      if (short) yield short;
    } else if (isWhole) {
      const shortNow = await orRefusal(() => this.assertStockNow(order));
      if (shortNow) yield shortNow;
    }
    yield* refusals;
    if (unaffordable) yield unaffordable;
    return { order, available };
  }

  /**
   * Chooses the priority for reading stock that is not yet known. An order that would be refused, or that the
   * customer cannot pay for, gets the lowest priority, so that it delays no others.
   */
  private async firstRead(toOrder: (quote: Quote) => NewOrder, known?: Quote): Promise<FirstRead> {
    const { available, refusals } = await this.placement.assess(toOrder(known ?? UNKNOWN_QUOTE));
    if (refusals.length > 0 || !available.isPositive()) return { priority: 'spare', line: 'unpaid' };
    return known ? { priority: 'order' } : { priority: 'order', line: 'unpriced' };
  }

  /** Runs the checks that need no price. @throws DomainError */
  private async findItem(request: OrderRequest): Promise<OrderedItem> {
    const { kind, period, maxPrice } = request;
    if (kind === 'purchase') {
      const { country, version, count, proxyType, label } = request;
      if (!isProxyType(proxyType)) throw new UnsupportedProxyType();
      this.catalog.assertRentalPeriod(version, period, country);
      return { kind, country, version, period, count, proxyType, proxyId: null, maxPrice, label };
    }
    const { id, country, proxyType, ...proxy } = await this.proxies.get(
      request.caller.userId,
      request.proxyId,
    );
    const version = toIpVersion(proxy.version);
    assertPeriodSold(version, period, 'renewal');
    const item = { kind, country, version, period, count: 1, proxyId: id, maxPrice };
    return { ...item, proxyType: proxyType as ProxyType };
  }

  /** May subtract orders in progress from the stock twice: a needless refusal beats a short delivery. */
  private async assertStockNow({ country, version, count, userId }: NewOrder): Promise<void> {
    const stock = await this.catalog.stockNow(country, version, userId);
    if (stock - (await this.queries.countQueuedProxies(country, version)) < count) {
      throw new NotEnoughProxies();
    }
  }

  /** Returns why the provider would not accept an order now; `null` if it would. */
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
