import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Money } from '../../common';
import { queryRows } from '../../database';
import { assertPeriod, readPage } from '../../http';
import {
  OrderCancellations,
  OrderNotFound,
  RefundTooLarge,
  requireIdempotency,
  ReviewService,
} from '../../orders';
import { ProxyProvider } from '../../provider';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { PostingOut } from '../balances/staff-balances.dto';
import { StaffBalancesService } from '../balances/staff-balances.service';
import { findHostPart, ORDER_COLUMNS, searchOrders } from './order-search';
import { toOrderOut } from './review-guidance';
import type {
  OrderDecision,
  OrderDetail,
  OrderedProxyOut,
  OrderOut,
  OrderRecord,
  OrdersPage,
  OrdersQuery,
  ProviderCallOut,
  RefundRequest,
  ReviewGuidance,
} from './staff-orders.dto';

/** Order as read by one statement. Separate statements read the data from other tables. */
type OrderRow = Omit<
  OrderDetail,
  | 'links'
  | 'refundable'
  | keyof ReviewGuidance
  | 'batch'
  | 'entries'
  | 'provider_calls'
  | 'proxies'
  | 'actions'
> & {
  readonly leader_reference: string | null;
};

/** Matches escapes that JSON.stringify writes and jsonb refuses, for NUL and unpaired surrogates. */
const NO_JSONB = String.raw`'\\u(0000|d)'`;

// Limits for the details of one order.
const MAX_CALLS = 200;
const MAX_PROXIES = 1000;
const MAX_ENTRIES = 1000;
const MAX_ACTIONS = 50;
/** Maximum number of characters of the response to one call. A listing can be far longer. */
const MAX_RESPONSE_LENGTH = 20_000;

@Injectable()
export class StaffOrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly review: ReviewService,
    private readonly cancellations: OrderCancellations,
    private readonly balances: StaffBalancesService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** Finds orders, newest first. @throws InvalidPeriod */
  async search(query: OrdersQuery): Promise<OrdersPage> {
    assertPeriod(query.from, query.to);
    const part = query.host ? await findHostPart(this.dataSource, query.host, query.cursor) : null;
    const found = await readPage(query, async (wider) =>
      (await searchOrders(this.dataSource, query, wider, this.provider.name, part)).map(toOrderOut),
    );
    return { ...found, next_cursor: found.next_cursor ?? part?.lowest ?? null };
  }

  /** Returns all known data of an order. @throws OrderNotFound */
  async getDetail(id: number): Promise<OrderDetail> {
    const [found] = await queryRows<OrderRow>(
      this.dataSource,
      `SELECT ${ORDER_COLUMNS}, orders.max_price, orders.markup_percent, orders.price_rule_id,
              orders.provider, orders.provider_price, orders.provider_charge, orders.date_end_before,
              orders.queued_until, orders.sent_before, orders.next_search_at, orders.searches,
              orders.nothing_seen_since,
              orders.token_id,
              orders.idempotency_key, orders.history, leader.order_reference AS leader_reference
         FROM orders LEFT JOIN orders leader ON leader.id = orders.batch_id
        WHERE orders.id = $1`,
      [id],
    );
    if (!found) throw new OrderNotFound();
    const { leader_reference: leaderReference, ...order } = found;
    const members = await this.findMembers(order);
    const batchReference = order.kind === 'purchase' ? leaderReference : null;
    return {
      ...toOrderOut(order),
      batch: order.batch_id === null ? null : { order_reference: batchReference, order_ids: members },
      entries: await this.balances.listEntriesOfOrder(id, MAX_ENTRIES),
      provider_calls: await this.findCalls(members),
      proxies: await this.findProxies(order),
      actions: await this.auditLog.findChanges({ type: 'order', id }, MAX_ACTIONS),
    };
  }

  /**
   * Closes an order in review. Either delivers and charges for the proxies that the provider has for the
   * order, or releases the hold.
   *
   * @throws OrderNotFound, OwnAccount, OrderNotInReview, NothingToDeliver, ProxyBelongsToAnother,
   *   ServiceUnavailable
   */
  async decide(
    audit: AuditContext,
    orderId: number,
    decision: OrderDecision,
    reason: string,
  ): Promise<OrderOut> {
    const deliver = decision === 'deliver' ? await this.review.findDelivery(orderId) : null;
    const after = await this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => lockOrder(orderId, manager),
      change: async (manager, before) => {
        audit.assertConcernsAnother(before.user_id);
        if (deliver) await deliver(manager);
        else await this.review.cancel(orderId, manager);
        return lockOrder(orderId, manager);
      },
    });
    return toOrderOut(after);
  }

  /**
   * Refunds a part of an order's charge, or the rest, once for each idempotency key. Proxies are kept.
   *
   * @throws OrderNotFound, OwnAccount, RefundTooLarge, IdempotencyKeyMissing, IdempotencyKeyInvalid,
   *   IdempotencyKeyReused
   */
  async refund(
    audit: AuditContext,
    orderId: number,
    { amount, reason, reference }: RefundRequest,
    idempotencyKey: string | undefined,
  ): Promise<PostingOut> {
    const idempotency = requireIdempotency(idempotencyKey, {
      direction: 'refund',
      orderId,
      amount: amount?.toString() ?? 'all',
      reason,
      reference: reference ?? '',
    });
    return this.balances.postOnce(audit, idempotency, async (manager, record) => {
      const before = await lockOrder(orderId, manager);
      audit.assertConcernsAnother(before.user_id);
      const refunded = Money.parse(before.refunded);
      const left = Money.parse(before.captured).minus(refunded);
      const returned = amount ?? left;
      if (!returned.isPositive() || returned.minus(left).isPositive()) throw new RefundTooLarge(left);
      const after = Object.assign({}, before, { refunded: refunded.plus(returned).toString() });
      const actionId = await record({ reason, before, after });
      return this.cancellations.refundCharge(orderId, returned, { reason, reference, actionId }, manager);
    });
  }

  /** Finds the ids of all orders that were sent in the same batch as this order, including this order. */
  private async findMembers({ id, batch_id: batchId }: Pick<OrderOut, 'id' | 'batch_id'>): Promise<number[]> {
    if (batchId === null) return [id];
    const members = await queryRows<{ id: number }>(
      this.dataSource,
      'SELECT id FROM orders WHERE batch_id = $1 ORDER BY id',
      [batchId],
    );
    return members.map((member) => member.id);
  }

  /**
   * Finds the latest calls for a batch. Calls for the batch are stored under its leader; calls before the
   * batch was sent, under any member.
   */
  private findCalls(orderIds: readonly number[]): Promise<ProviderCallOut[]> {
    return queryRows(
      this.dataSource,
      `SELECT id, method, request, outcome, http_status, duration_ms, created_at,
              CASE WHEN length(response) <= ${MAX_RESPONSE_LENGTH} THEN response::json
                   WHEN response ~ '^{' AND response !~ ${NO_JSONB}
                   THEN (response::jsonb || '{"list": "omitted"}')::json
                   ELSE '"omitted"' END AS response
         FROM (SELECT id, method, request, outcome, http_status, duration_ms, created_at, response
                 FROM provider_calls WHERE order_id = ANY ($1)
                ORDER BY created_at DESC, id DESC LIMIT ${MAX_CALLS}) AS latest
        ORDER BY created_at, id`,
      [orderIds],
    );
  }

  private findProxies({ id, kind, proxy_id: proxyId }: OrderRecord): Promise<OrderedProxyOut[]> {
    const [column, value] = kind === 'purchase' ? ['order_id', id] : ['id', proxyId];
    return queryRows(
      this.dataSource,
      `SELECT id, provider_proxy_id, host, port, active, date_end, withdrawn_at, assigned_action_id
         FROM proxies WHERE ${column} = $1 ORDER BY id LIMIT ${MAX_PROXIES}`,
      [value],
    );
  }
}

/** Locks the order until the transaction ends. @throws OrderNotFound */
async function lockOrder(orderId: number, manager: EntityManager): Promise<OrderRecord> {
  await manager.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  const [order] = await queryRows<OrderRecord>(manager, `SELECT ${ORDER_COLUMNS} FROM orders WHERE id = $1`, [
    orderId,
  ]);
  if (!order) throw new OrderNotFound();
  return order;
}
