import { Injectable, Logger } from '@nestjs/common';
import { Clock, DomainError, stackOf } from '../../common';
import { statusOf } from '../../http';
import { LedgerService } from '../../ledger';
import { Metrics } from '../../metrics';
import { ProxiesService, type ProxyOut, toProxyOut } from '../../proxies';
import { DispatcherService } from '../dispatch/dispatcher.service';
import { OrderWaiters } from '../dispatch/order-waiters';
import { errorOfFailure } from '../order-failures';
import type { Idempotency } from '../order-keys';
import type { OrderOutcome } from '../order-outcome';
import { type EarlierRequest, OrderQueries, WRITTEN_OFF } from '../order-queries';
import type { OrderKind } from '../order-states';
import { IdempotencyKeyInProgress, OrderBeingConfirmed, RequestWrittenOff } from '../orders.errors';
import type { DryRunResponse } from './dto/dry-run-response.dto';
import type { NewOrder } from './new-order';
import { OrderChecks, ERROR_OF_REFUSAL, placementFailure, type PreparedOrder } from './order-checks';
import { OrderPlacement } from './order-placement';
import type { OrderRequest } from './order-request';

export interface OrderResult {
  readonly orderId: number;
  /** Amount in roubles. */
  readonly charged: string;
  readonly proxies: readonly ProxyOut[];
  readonly replayed: boolean;
}

/** `descr` of a proxy in a replay after its credentials were removed. */
const CREDENTIALS_GONE = 'The login and the password are no longer stored';

/** Whether an error guarantees that the order was not placed. */
const isRefusal = (error: unknown): boolean =>
  error instanceof DomainError && !(error instanceof OrderBeingConfirmed);

/** A waiting request holds no transaction or connection. See `docs/reliability.md` for crash recovery. */
@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);
  private readonly inProgress = new Set<Promise<unknown>>();

  constructor(
    private readonly checks: OrderChecks,
    private readonly placement: OrderPlacement,
    private readonly queries: OrderQueries,
    private readonly waiters: OrderWaiters,
    private readonly dispatcher: DispatcherService,
    private readonly ledger: LedgerService,
    private readonly proxies: ProxiesService,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  place(request: OrderRequest): Promise<OrderResult> {
    return this.track(this.execute(request));
  }

  /** Waits for all of this process's orders, even those whose callers have disconnected. */
  async untilIdle(): Promise<void> {
    this.dispatcher.stop();
    while (this.inProgress.size > 0) await Promise.allSettled(this.inProgress);
    await this.dispatcher.untilIdle();
  }

  /** Makes the process wait for an order before it stops, even if the caller has disconnected. */
  async track<Result>(order: Promise<Result>): Promise<Result> {
    this.inProgress.add(order);
    try {
      return await order;
    } finally {
      this.inProgress.delete(order);
    }
  }

  private async execute(request: OrderRequest): Promise<OrderResult> {
    const { userId, overLimit } = request.caller;
    const earlier = await this.findEarlierOrder(userId, request.idempotency);
    if (earlier) return this.replay(earlier);
    if (overLimit) throw overLimit;

    const placed = await this.checkAndPlace(request).catch(async (error: unknown) => {
      // A faster request with the same key may have taken the money or stock that this one lacks.
      const faster = isRefusal(error) ? await this.findEarlierOrder(userId, request.idempotency) : null;
      if (faster) return faster;
      this.countRefusal(request.kind, error);
      throw error;
    });
    return typeof placed === 'number' ? this.settle(placed, request.kind) : this.replay(placed);
  }

  /** @returns the new order's id, or the earlier request that used the same idempotency key */
  private async checkAndPlace(request: OrderRequest): Promise<number | EarlierRequest> {
    const { done, value } = await this.checks.of(request, 'order').next();
    if (!done) throw value;
    return this.placeOnce(value.order);
  }

  countRefusal(kind: OrderKind, error: unknown): void {
    if (isRefusal(error)) {
      this.metrics.count('orders_total', { kind, outcome: 'refused' });
    }
  }

  async settle(orderId: number, kind: OrderKind): Promise<OrderResult> {
    const waiting = this.waiters.untilOutcome(orderId, kind);
    this.dispatcher.wake(kind);
    const outcome = await waiting;
    try {
      return await this.toResult(outcome ?? (await this.queries.getOutcome(orderId)));
    } catch (error) {
      if (error instanceof DomainError) throw error;
      // After placement, every error contains the order's id, so that the caller can read the outcome.
      this.logger.error(`order ${orderId}: left to reconciliation`, stackOf(error));
      throw new OrderBeingConfirmed({ orderId });
    }
  }

  /** Runs all checks for a dry run. Places nothing. */
  async rehearse(request: OrderRequest): Promise<DryRunResponse> {
    const { userId, overLimit } = request.caller;
    if (overLimit) throw overLimit;
    const earlier = await this.findEarlierOrder(userId, request.idempotency);
    const refusals = new Map<string, DomainError>();
    let prepared: PreparedOrder | undefined;
    try {
      if (earlier) await this.replay(earlier);
      else {
        const found = this.checks.of(request, 'preview');
        let next = await found.next();
        for (; !next.done; next = await found.next()) refusals.set(next.value.detail, next.value);
        prepared = next.value;
      }
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      refusals.set(error.detail, error);
    }
    const order = prepared?.order;
    const available = prepared?.available ?? (await this.ledger.available(userId));
    const isPlaced = order !== undefined && refusals.size === 0;
    return {
      dry_run: true,
      order_id: earlier && earlier !== WRITTEN_OFF ? earlier.id : null,
      price_single: order?.unitPrice.toString() ?? null,
      price_final: order?.total.toString() ?? null,
      currency: 'RUB',
      balance_available: available.toString(),
      balance_after: (isPlaced ? available.minus(order.total) : available).toString(),
      refusals: [...refusals.values()].map((error) => ({ status: statusOf(error), detail: error.detail })),
    };
  }

  private async placeOnce(order: NewOrder): Promise<number | EarlierRequest> {
    const [placement] = await this.placement.place([order]);
    if (!placement) throw new Error('an order was neither placed nor refused');
    switch (placement.outcome) {
      case 'placed':
        return placement.id;
      case 'refused': {
        const { refusal } = placement;
        // Another request with the key was faster, or this one matches a request that a restore lost.
        const { userId, idempotency } = order;
        const earlier = refusal === 'key-in-use' ? await this.findEarlierOrder(userId, idempotency) : null;
        if (earlier) return earlier;
        throw ERROR_OF_REFUSAL[refusal](order);
      }
      case 'failed':
        throw placementFailure(placement.error, order);
    }
  }

  /** @throws IdempotencyKeyReused */
  async findEarlierOrder(userId: number, idempotency: Idempotency | null): Promise<EarlierRequest | null> {
    return idempotency && this.queries.findByKey(userId, idempotency);
  }

  private replay(earlier: EarlierRequest): Promise<OrderResult> {
    if (earlier === WRITTEN_OFF) throw new RequestWrittenOff();
    if (earlier.state === 'reserved' || earlier.state === 'submitting') {
      throw new IdempotencyKeyInProgress(earlier.id);
    }
    return this.toResult(earlier, true);
  }

  /** @throws DomainError the reason why nothing was delivered */
  async toResult(order: OrderOutcome, replayed = false): Promise<OrderResult> {
    switch (order.state) {
      case 'completed':
      case 'partial':
        return {
          orderId: order.id,
          charged: order.captured,
          proxies: await this.deliveredProxies(order, replayed),
          replayed,
        };
      case 'canceled':
        throw errorOfFailure(order.kind, order.failure);
      case 'reserved':
      case 'submitting':
      case 'confirming':
      case 'review':
        throw new OrderBeingConfirmed({ orderId: order.id });
    }
  }

  private async deliveredProxies(order: OrderOutcome, replayed: boolean): Promise<ProxyOut[]> {
    const now = this.clock.now();
    if (!order.deliveredProxies) {
      const proxies = await this.proxies.ofOrder(order);
      if (!replayed) return proxies;
      // The order's copy of the credentials was removed long ago. For ended rentals, do not show the copy
      // that is still stored with the proxies.
      const gone = { login: '', password: '', descr: CREDENTIALS_GONE };
      return proxies.map((proxy) => (proxy.active ? proxy : Object.assign(proxy, gone)));
    }
    const withdrawals = replayed
      ? await this.proxies.withdrawals(order.deliveredProxies.map(({ id }) => id))
      : null;
    // Builds one literal per proxy: adding fields to a spread object takes ten times as long.
    return order.deliveredProxies.map(
      ({ id, host, port, login, password, label, date_start: start, date_end: end }) =>
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
            label: password === undefined ? CREDENTIALS_GONE : (label ?? null),
          },
          now,
        ),
    );
  }
}
