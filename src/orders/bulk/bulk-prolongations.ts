import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../auth';
import { CatalogService, type Quote, RenewalPrices } from '../../catalog';
import { DomainError, Money, requestId, ServiceUnavailable, stackOf } from '../../common';
import { statusOf } from '../../http';
import { LedgerService } from '../../ledger';
import { ProxyProvider } from '../../provider';
import {
  ProxyNotFound,
  readBulkTarget,
  type TargetProxy,
  type BulkTarget,
  BulkTargetsService,
} from '../../proxies';
import { Maintenance } from '../maintenance';
import { bulkOrderKey, type Idempotency, requireIdempotency } from '../order-keys';
import { OrderQueries, WRITTEN_OFF } from '../order-queries';
import {
  IdempotencyKeyInProgress,
  OrderBeingConfirmed,
  PriceAboveMax,
  RequestWrittenOff,
} from '../orders.errors';
import type { DryRunResponse, OrderRefusal } from '../placing/dto/dry-run-response.dto';
import { newOrder, type NewOrder } from '../placing/new-order';
import { OrderChecks, ERROR_OF_REFUSAL, placementFailure } from '../placing/order-checks';
import { OrderPlacement, type Placement } from '../placing/order-placement';
import { type OrderResult, OrdersService } from '../placing/orders.service';
import { type Bulk, BulkRecords } from './bulk-records';
import {
  BULK_STATUSES,
  type BulkProlongRequest,
  type BulkProlongResponse,
  type BulkProxyOut,
  type BulkStatus,
} from './bulk.dto';

interface BulkRequest {
  readonly caller: Caller;
  readonly target: BulkTarget;
  readonly period: number;
  readonly maxPrice: Money | null;
  readonly idempotency: Idempotency;
}

type Outcome = { readonly orderId: number; readonly result: () => Promise<OrderResult> } | DomainError;

/**
 * Prolongs many proxies in one request. Each proxy gets an order under a key derived from the request's key,
 * so that no retry places it twice. Retries use the proxies and price limits of the first request.
 */
@Injectable()
export class BulkProlongations {
  private readonly logger = new Logger(BulkProlongations.name);

  constructor(
    private readonly records: BulkRecords,
    private readonly targets: BulkTargetsService,
    private readonly orders: OrdersService,
    private readonly checks: OrderChecks,
    private readonly placement: OrderPlacement,
    private readonly queries: OrderQueries,
    private readonly maintenance: Maintenance,
    private readonly catalog: CatalogService,
    private readonly provider: ProxyProvider,
    private readonly ledger: LedgerService,
  ) {}

  async prolong(
    caller: Caller,
    body: BulkProlongRequest,
    idempotencyKey: string | undefined,
  ): Promise<{ response: BulkProlongResponse; replayed: boolean }> {
    return this.orders.track(this.executeAndSumUp(read(caller, body, idempotencyKey)));
  }

  /** Checks each proxy and the total price for a dry run. Places nothing. */
  async rehearse(caller: Caller, ids: readonly string[], period: number): Promise<DryRunResponse> {
    const refusals = new Map<string, OrderRefusal>();
    const refuse = (error: DomainError, proxyId?: string): void => {
      const detail = proxyId === undefined ? error.detail : `Proxy ${proxyId}: ${error.detail}`;
      refusals.set(detail, { status: statusOf(error), detail });
    };
    const targets = await this.targets.find(caller.userId, { ids: [...new Set(ids)] });
    for (const { proxyId, proxy } of targets) if (!proxy) refuse(new ProxyNotFound(), proxyId);
    const proxies = targets.flatMap(({ proxy }) => proxy ?? []);
    const orders: NewOrder[] = [];
    for (const { id, order } of await this.prepare(caller, period, proxies)) {
      if (order instanceof DomainError) refuse(order, String(id));
      else orders.push(order);
    }
    const total = orders.reduce((sum, order) => sum.plus(order.total), Money.zero);
    const [first] = orders;
    const whole = first && { ...first, total, proxyId: null };
    const assessed = whole && (await this.placement.assess(whole));
    for (const order of orders) {
      // Refusals that apply to the whole request are reported only once, below.
      const { refusals: own } = await this.placement.assess(order);
      for (const refusal of own.filter((one) => !assessed?.refusals.includes(one))) {
        refuse(ERROR_OF_REFUSAL[refusal](order), String(order.proxyId));
      }
    }
    if (whole) for (const refusal of assessed?.refusals ?? []) refuse(ERROR_OF_REFUSAL[refusal](whole));
    const available = assessed?.available ?? (await this.ledger.available(caller.userId));
    return {
      dry_run: true,
      order_id: null,
      price_single: null,
      price_final: whole ? total.toString() : null,
      currency: 'RUB',
      balance_available: available.toString(),
      balance_after: (refusals.size === 0 ? available.minus(total) : available).toString(),
      refusals: [...refusals.values()],
    };
  }

  /** Prolongs proxies without an idempotency key, so a retry is not safe. */
  async prolongOnce(
    caller: Caller,
    ids: readonly string[],
    period: number,
  ): Promise<(OrderResult | DomainError)[]> {
    const request = {
      caller,
      target: { ids },
      period,
      maxPrice: null,
      idempotency: requireIdempotency(randomUUID(), { kind: 'bulk-prolongation', period }),
    };
    return this.orders.track(
      this.execute(request).then(({ outcomes }) => Promise.all(ids.map((id) => resultOf(outcomes.get(id))))),
    );
  }

  private async executeAndSumUp(request: BulkRequest) {
    const { ids, outcomes, replayed } = await this.execute(request);
    const proxies = await Promise.all(ids.map(async (id) => toBulkProxyOut(id, outcomes.get(id))));
    return { response: { proxies, totals: sumUp(proxies) }, replayed };
  }

  private async execute(request: BulkRequest): Promise<{
    ids: readonly string[];
    outcomes: ReadonlyMap<string, Outcome>;
    replayed: boolean;
  }> {
    const { caller, target, idempotency } = request;
    const { userId } = caller;
    const known = await this.records.retry(userId, idempotency);
    if (!known && caller.overLimit) throw caller.overLimit;
    if (!known) await this.maintenance.assertOpen();
    const bulk = known ?? (await this.accept(request));
    const earlier = await this.records.findOrders(userId, idempotency.key, bulk);
    if ([...earlier.values()].some(({ state }) => state === 'reserved' || state === 'submitting')) {
      throw new IdempotencyKeyInProgress();
    }
    const missing = bulk.proxyIds.filter((id) => !earlier.has(id));
    const { overLimit } = caller;
    // If the caller is rate-limited, the whole request fails, because it may soon be retried. If the caller
    // is over any other limit, only the remaining proxies are refused.
    if (missing.length > 0 && overLimit?.kind === 'rate-limited') throw overLimit;
    if (known && missing.length > 0 && !overLimit) await this.maintenance.assertOpen();

    const outcomes = new Map<string, Outcome>();
    for (const [id, order] of earlier) {
      outcomes.set(String(id), { orderId: order.id, result: () => this.orders.toResult(order) });
    }
    const ordered = overLimit
      ? missing.map((id): [number, Outcome] => [id, overLimit])
      : await this.order(request, bulk, missing);
    for (const [id, outcome] of ordered) outcomes.set(String(id), outcome);
    const ids = 'ids' in target ? target.ids : bulk.proxyIds.map(String);
    return { ids, outcomes, replayed: known !== null && missing.length === 0 };
  }

  /** @throws IdempotencyKeyReused, TooManyTargets, PriceAboveMax, ServiceUnavailable */
  private async accept(request: BulkRequest): Promise<Bulk> {
    const { caller, target, period, maxPrice, idempotency } = request;
    await this.queries.findByKey(caller.userId, idempotency);
    const targets = await this.targets.find(caller.userId, target);
    const proxies = targets.flatMap(({ proxy }) => proxy ?? []);
    const closed = this.checks.providerRefusal();
    if (closed) throw closed;
    const prices = await this.pricesOf(caller.userId, proxies, period);
    const unavailable = prices.find((price) => price instanceof ServiceUnavailable);
    if (unavailable) throw unavailable;
    const unitPrices = prices.map((price) => (price instanceof DomainError ? Money.zero : price.unitPrice));
    const total = unitPrices.reduce((sum, price) => sum.plus(price), Money.zero);
    if (maxPrice && total.kopecks > maxPrice.kopecks) throw new PriceAboveMax(total, maxPrice);
    return this.records.accept(caller.userId, idempotency, {
      proxyIds: proxies.map(({ id }) => id),
      maxPrices: maxPrice && unitPrices.map((price) => shareOf(maxPrice, price, total)),
    });
  }

  /** Places the orders in the requested sequence, so that a low balance still covers the first ones. */
  private async order(
    { caller, period, idempotency }: BulkRequest,
    { proxyIds, maxPrices }: Bulk,
    missing: readonly number[],
  ): Promise<[number, Outcome][]> {
    const targets = await this.targets.find(caller.userId, { ids: missing.map(String) });
    const proxies = targets.flatMap(({ proxy }) => proxy ?? []);
    const guards = new Map(proxyIds.map((id, n) => [id, maxPrices?.[n] ?? null]));
    const prepared = await this.prepare(caller, period, proxies, idempotency, guards);
    const orders = prepared.flatMap(({ order }) => (order instanceof DomainError ? [] : [order]));
    const placed = await this.placement.place(orders);
    const placements = new Map(orders.map((order, n) => [order, placed[n]]));
    return Promise.all(
      prepared.map(async ({ id, order }): Promise<[number, Outcome]> => {
        const isRefused = order instanceof DomainError;
        const outcome = isRefused ? order : await this.outcomeOf(order, placements.get(order));
        this.orders.countRefusal('prolongation', outcome);
        return [id, outcome];
      }),
    );
  }

  private async prepare(
    caller: Caller,
    period: number,
    proxies: readonly TargetProxy[],
    idempotency: Idempotency | null = null,
    guards: ReadonlyMap<number, Money | null> = new Map(),
  ): Promise<{ id: number; order: NewOrder | DomainError }[]> {
    const prices = await this.pricesOf(caller.userId, proxies, period);
    return proxies.map(({ id, country, version, proxyType }, n) => {
      const price = prices[n] ?? new ServiceUnavailable();
      if (price instanceof DomainError) return { id, order: price };
      const item = { kind: 'prolongation', country, version, period, count: 1, proxyId: id } as const;
      const order = newOrder({ ...item, proxyType, maxPrice: guards.get(id) ?? null }, price, caller, {
        provider: this.provider.name,
        idempotency: idempotency && { ...idempotency, key: bulkOrderKey(idempotency.key, id) },
        requestId: requestId() ?? null,
      });
      return { id, order };
    });
  }

  private async outcomeOf(order: NewOrder, placement: Placement | undefined): Promise<Outcome> {
    switch (placement?.outcome) {
      case 'placed': {
        const { id } = placement;
        return { orderId: id, result: () => this.orders.settle(id, 'prolongation') };
      }
      case 'refused': {
        const { refusal } = placement;
        const { userId, idempotency } = order;
        const isInUse = refusal === 'key-in-use';
        const earlier = isInUse ? await this.orders.findEarlierOrder(userId, idempotency) : null;
        if (!earlier) return ERROR_OF_REFUSAL[refusal](order);
        if (earlier === WRITTEN_OFF) return new RequestWrittenOff();
        return { orderId: earlier.id, result: () => this.orders.toResult(earlier) };
      }
      case 'failed':
      case undefined:
        return this.notPlaced(order, placement?.error);
    }
  }

  private notPlaced(order: NewOrder, error: unknown): DomainError {
    const failure = placementFailure(error, order);
    if (failure instanceof DomainError) return failure;
    this.logger.error(`proxy ${order.proxyId}: its prolongation was not placed`, stackOf(failure));
    return new ServiceUnavailable();
  }

  private pricesOf(
    userId: number,
    proxies: readonly TargetProxy[],
    period: number,
  ): Promise<(Quote | DomainError)[]> {
    const prices = new RenewalPrices(this.catalog);
    return Promise.all(
      proxies.map(async ({ country, version }) => {
        const quote = await prices.of({ userId, country, version, period });
        return quote instanceof DomainError
          ? quote
          : (this.checks.providerRefusal(quote.providerPrice) ?? quote);
      }),
    );
  }
}

async function resultOf(outcome: Outcome = new ProxyNotFound()): Promise<OrderResult | DomainError> {
  if (outcome instanceof DomainError) return outcome;
  try {
    return await outcome.result();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

async function toBulkProxyOut(proxyId: string, outcome: Outcome | undefined): Promise<BulkProxyOut> {
  const orderId = !outcome || outcome instanceof DomainError ? null : outcome.orderId;
  const proxy = { proxy_id: proxyId, order_id: orderId, price_charged: null, date_end: null };
  const delivery = await resultOf(outcome);
  if (delivery instanceof DomainError) {
    return { ...proxy, status: bulkStatusOf(delivery), detail: delivery.detail };
  }
  const { charged, proxies } = delivery;
  const dateEnd = proxies[0]?.date_end ?? null;
  return { ...proxy, status: 'prolonged', price_charged: charged, date_end: dateEnd, detail: null };
}

/** @throws IdempotencyKeyMissing, IdempotencyKeyInvalid, RequestInvalid */
function read(caller: Caller, body: BulkProlongRequest, idempotencyKey: string | undefined): BulkRequest {
  const { period, max_price: maxPrice } = body;
  const target = readBulkTarget(body);
  const idempotency = requireIdempotency(idempotencyKey, {
    kind: 'bulk-prolongation',
    period,
    maxPrice: maxPrice?.toString() ?? '',
    target: JSON.stringify(target),
  });
  return { caller, target, period, maxPrice, idempotency };
}

/** Returns an order's share of `maxPrice`, in proportion to its price, rounded down. */
const shareOf = (maxPrice: Money, price: Money, total: Money): Money =>
  total.isPositive() ? Money.ofKopecks((maxPrice.kopecks * price.kopecks) / total.kopecks) : Money.zero;

function bulkStatusOf(error: DomainError): BulkStatus {
  if (error instanceof ProxyNotFound) return 'not_found';
  if (error instanceof OrderBeingConfirmed || error instanceof IdempotencyKeyInProgress) {
    return 'being_confirmed';
  }
  return error.kind === 'unavailable' ? 'unavailable' : 'refused';
}

function sumUp(proxies: readonly BulkProxyOut[]): BulkProlongResponse['totals'] {
  const count = (status: BulkStatus): number => proxies.filter((proxy) => proxy.status === status).length;
  const counts = Object.fromEntries(BULK_STATUSES.map((status) => [status, count(status)]));
  const charged = proxies.reduce(
    (sum, { price_charged: price }) => (price === null ? sum : sum.plus(Money.parse(price))),
    Money.zero,
  );
  return {
    proxies: proxies.length,
    ...(counts as Record<BulkStatus, number>),
    price_charged: charged.toString(),
    currency: 'RUB',
  };
}
