import { Body, Controller, Get, Headers, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource, type EntityManager } from 'typeorm';
import { Money, ServiceUnavailable } from '../../common';
import { queryRows } from '../../database';
import { IdParam, INVALID_PERIOD, assertPeriod, readPage } from '../../http';
import {
  NothingToDeliver,
  OrderNotFound,
  OrderNotInReview,
  ProxyBelongsToAnother,
  OrderRefundTooLarge,
  OrderCancellations,
  requireIdempotency,
  ReviewService,
} from '../../orders';
import { ProxyProvider } from '../../provider';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { PostingOut } from '../balances/staff-balances.dto';
import { StaffBalancesService } from '../balances/staff-balances.service';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, POSTING_KEY, StaffRoute } from '../staff-route';
import { findHostOrderRange, ORDER_COLUMNS, searchOrders } from './order-search';
import { toStaffOrderOut } from './review-guidance';
import {
  DecisionRequest,
  StaffOrderDetails,
  StaffOrderOut,
  StaffOrdersPage,
  StaffOrdersQuery,
  OrderRefundRequest,
  type OrderedProxyOut,
  type OrderRecord,
  type ProviderCallOut,
  type ReviewGuidance,
} from './staff-orders.dto';

const REFUNDED = {
  id: 1240,
  user_id: 42,
  kind: 'refund',
  amount: '12.54',
  reason: 'One of two did not work',
  reference: 'ticket 823',
  balance: '487.46',
  held: '0.00',
  created_at: '2026-11-21T14:00:00.000Z',
  replayed: false,
} satisfies Record<keyof PostingOut, unknown>;

type OrderRow = Omit<
  StaffOrderDetails,
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

/** Matches the escapes of NUL and of unpaired surrogates, which jsonb rejects. */
const NO_JSONB = String.raw`'\\u(0000|d)'`;

// Limits for the details of one order.
const MAX_CALLS = 200;
const MAX_PROXIES = 1000;
const MAX_ENTRIES = 1000;
const MAX_ACTIONS = 50;
/** In characters. Limited because responses with listings can be far longer. */
const MAX_RESPONSE_LENGTH = 20_000;

@ApiTags('Orders')
@Controller('staff/orders')
export class StaffOrdersController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly review: ReviewService,
    private readonly cancellations: OrderCancellations,
    private readonly balances: StaffBalancesService,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get()
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.search',
    summary: 'Find orders',
    description:
      'For support and for deciding orders in review: the orders that match all of the given ' +
      "parameters, newest first. `order_reference` matches an order's own reference or the one under " +
      'which it was sent in a batch. `provider_proxy_id` and `host` match a proxy that the order ' +
      "delivered or prolonged. `request_id` is the `X-Request-Id` of the customer's response. For a " +
      'host with more than 2,000 proxies, orders are sorted by the delivery of the proxy, newest ' +
      "first: the prolongations of an order's proxies, then that order. Each page covers about 2,000 " +
      "of the host's proxies, so a page may be short or empty even if more pages follow.",
    response: { description: 'A page of orders, newest first', type: StaffOrdersPage },
    errors: { 400: INVALID_PERIOD },
  })
  async search(@Query() query: StaffOrdersQuery): Promise<StaffOrdersPage> {
    assertPeriod(query.from, query.to);
    const range = query.host ? await findHostOrderRange(this.dataSource, query.host, query.cursor) : null;
    const found = await readPage(query, async (wider) =>
      (await searchOrders(this.dataSource, query, wider, this.provider.name, range)).map(toStaffOrderOut),
    );
    return { ...found, next_cursor: found.next_cursor ?? range?.lowest ?? null };
  }

  @Get(':order_id')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.read',
    on: 'order',
    summary: 'Show an order',
    description:
      'For support and for deciding orders in review: an order with all its details. These include its ' +
      'states with their times, its effect on the balance, the calls to the provider with their ' +
      'responses (the latest 200; very long responses without their list), its proxies (at most 1000, ' +
      'without logins and passwords), and changes made by staff (the latest 50).',
    response: { description: 'The order', type: StaffOrderDetails },
    errors: { 404: notFound(OrderNotFound) },
  })
  async read(@IdParam('order_id') orderId: number): Promise<StaffOrderDetails> {
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
      [orderId],
    );
    if (!found) throw new OrderNotFound();
    const { leader_reference: leaderReference, ...order } = found;
    const members = await this.findMembers(order);
    const batchReference = order.kind === 'purchase' ? leaderReference : null;
    return {
      ...toStaffOrderOut(order),
      batch: order.batch_id === null ? null : { order_reference: batchReference, order_ids: members },
      entries: await this.balances.listEntriesOfOrder(orderId, MAX_ENTRIES),
      provider_calls: await this.findCalls(members),
      proxies: await this.findProxies(order),
      actions: await this.auditLog.findChanges({ type: 'order', id: orderId }, MAX_ACTIONS),
    };
  }

  @Post(':order_id/decide')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.decide',
    on: 'order',
    summary: 'Decide an order in review',
    description:
      'For support, when the outcome of an order is unknown. `deliver` queries the provider once more, ' +
      'delivers the proxies that it lists for the order, charges for them, and releases the rest of ' +
      'the money. `cancel` releases all of the money; if the provider turns out to have proxies for ' +
      'the order, they become unmatched proxies at the next sweep. The orders of a batch are decided ' +
      'one by one.',
    response: { description: 'The updated order', type: StaffOrderOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(OrderNotFound),
      409: ['Nothing was changed', OrderNotInReview, NothingToDeliver, ProxyBelongsToAnother],
      503: ['The provider is unavailable. Nothing was changed', ServiceUnavailable],
    },
  })
  async decide(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() { decision, reason }: DecisionRequest,
  ): Promise<StaffOrderOut> {
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
    return toStaffOrderOut(after);
  }

  @Post(':order_id/refund')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'orders.refund',
    on: 'order',
    summary: 'Refund an order',
    description:
      'For support, when a complaint is justified: refunds `amount` or, if omitted, the rest of the ' +
      'price paid for an order. All refunds of an order together never exceed the price paid. The user ' +
      'keeps the proxies.',
    idempotencyKey: POSTING_KEY,
    response: {
      description: 'The ledger entry, with the resulting balance',
      type: PostingOut,
      example: REFUNDED,
    },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(OrderNotFound),
      409: [
        'Nothing was changed',
        new OrderRefundTooLarge(Money.zero),
        new OrderRefundTooLarge(Money.parse('12.54')),
      ],
    },
  })
  async refund(
    @CurrentAudit() audit: AuditContext,
    @IdParam('order_id') orderId: number,
    @Body() refund: OrderRefundRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<PostingOut> {
    const { amount, reason, reference } = refund;
    const idempotency = requireIdempotency(key, {
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
      if (!returned.isPositive() || returned.minus(left).isPositive()) throw new OrderRefundTooLarge(left);
      const after = Object.assign({}, before, { refunded: refunded.plus(returned).toString() });
      const actionId = await record({ reason, before, after });
      return this.cancellations.refundCharge(orderId, returned, { reason, reference, actionId }, manager);
    });
  }

  private async findMembers({
    id,
    batch_id: batchId,
  }: Pick<StaffOrderOut, 'id' | 'batch_id'>): Promise<number[]> {
    if (batchId === null) return [id];
    const members = await queryRows<{ id: number }>(
      this.dataSource,
      'SELECT id FROM orders WHERE batch_id = $1 ORDER BY id',
      [batchId],
    );
    return members.map((member) => member.id);
  }

  /**
   * A batch's calls are stored under its leader. Calls from before the batch was formed may be stored under
   * any of its members.
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

async function lockOrder(orderId: number, manager: EntityManager): Promise<OrderRecord> {
  await manager.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  const [order] = await queryRows<OrderRecord>(manager, `SELECT ${ORDER_COLUMNS} FROM orders WHERE id = $1`, [
    orderId,
  ]);
  if (!order) throw new OrderNotFound();
  return order;
}
