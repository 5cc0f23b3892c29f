import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { type OrderKind, OrderNotFound, type OrderState, type StateChange } from '../orders';
import { ProxyProvider } from '../provider';
import type { ActionOut } from './dto/action.dto';
import { ORDER_COLUMNS, type OrderRow } from './order-row';
import { type LedgerRow, SELECT_LEDGER_ROW } from './staff-balance.service';
import { StaffLog } from './staff-log';

/** What is left out counts as any. */
export interface OrderFilter {
  readonly userId?: number | null | undefined;
  readonly state?: OrderState | null | undefined;
  readonly kind?: OrderKind | null | undefined;
  readonly from?: Date | null | undefined;
  /** Not included. */
  readonly to?: Date | null | undefined;
  /** Of the order, or the one under which its group went to the provider. */
  readonly tag?: string | null | undefined;
  readonly providerOrderId?: string | null | undefined;
  /** Of a proxy that the order delivered or prolonged. */
  readonly providerProxyId?: string | null | undefined;
  /** Of a proxy that the order delivered or prolonged. */
  readonly host?: string | null | undefined;
  readonly requestId?: string | null | undefined;
}

/** A call to the provider for an order or the group it travelled in. */
export interface ProviderCallRow {
  readonly id: number;
  readonly method: string;
  readonly request: object;
  readonly outcome: string;
  readonly http_status: number | null;
  readonly answer: unknown;
  readonly duration_ms: number;
  readonly created_at: Date;
}

/** A proxy that an order delivered or prolonged, without what one logs in with. */
export interface OrderedProxyRow {
  readonly id: number;
  readonly provider_proxy_id: string;
  readonly host: string;
  readonly port: string;
  readonly active: boolean;
  readonly date_end: Date | null;
  readonly withdrawn_at: Date | null;
  readonly assigned_action_id: number | null;
}

interface OrderInDetail extends OrderRow {
  readonly markup_percent: string | null;
  readonly price_rule_id: number | null;
  readonly provider: string;
  readonly provider_price: string;
  readonly provider_charge: string | null;
  readonly date_end_before: Date | null;
  readonly deadline: Date;
  readonly next_look_at: Date;
  readonly looks: number;
  readonly nothing_seen_since: Date | null;
  readonly token_id: number | null;
  readonly idempotency_key: string | null;
  readonly history: readonly StateChange[];
}

/** Everything that is known of an order. */
export interface OrderDetailRow extends OrderInDetail {
  readonly group: { readonly upstream_tag: string | null; readonly order_ids: readonly number[] } | null;
  readonly entries: readonly LedgerRow[];
  readonly upstream_calls: readonly ProviderCallRow[];
  readonly proxies: readonly OrderedProxyRow[];
  readonly actions: readonly ActionOut[];
}

/** What is shown of an order at most. */
const MOST_CALLS = 200;
const MOST_PROXIES = 1000;
const MOST_ENTRIES = 1000;
const MOST_ACTIONS = 50;
/** Characters, of the answer to one call: a listing can be far longer. */
const LONGEST_ANSWER = 20_000;

/** What staff see of orders, over HTTP and on the command line. */
@Injectable()
export class StaffOrdersService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly log: StaffLog,
  ) {}

  /** A page of orders, the last placed first. @param page.cursor the id of the last order of the page before */
  search(filter: OrderFilter, page: { cursor: number | null; limit: number }): Promise<OrderRow[]> {
    const parameters: unknown[] = [];
    const given = (value: unknown): string => `$${parameters.push(value)}`;
    const { userId, state, kind, from, to, tag, providerOrderId, providerProxyId, host, requestId } = filter;
    const conditions: string[] = [];
    if (userId) conditions.push(`orders.user_id = ${given(userId)}`);
    // In the text, so that a partial index is seen to fit.
    if (state) conditions.push(`orders.state = '${state}'`);
    if (kind) {
      conditions.push(
        `orders.kind = '${kind}' AND orders.proxy_id IS ${kind === 'purchase' ? '' : 'NOT '}NULL`,
      );
    }
    if (from) conditions.push(`orders.created_at >= ${given(from)}`);
    if (to) conditions.push(`orders.created_at < ${given(to)}`);
    // What few orders have is found first, whatever the planner thinks of reading all by their time.
    const among = (ids: string): void => void conditions.push(`orders.id = ANY (ARRAY(${ids}))`);
    const amongThoseOf = (proxy: string): void =>
      among(
        `SELECT order_id FROM proxies WHERE ${proxy}
         UNION SELECT prolongation.id FROM proxies JOIN orders prolongation ON prolongation.proxy_id = proxies.id WHERE ${proxy}`,
      );
    if (tag) {
      const text = given(tag);
      among(
        `SELECT id FROM orders WHERE tag = ${text}
         UNION SELECT member.id FROM orders lead JOIN orders member ON member.group_id = lead.id WHERE lead.tag = ${text}`,
      );
    }
    if (providerOrderId) among(`SELECT id FROM orders WHERE provider_order_id = ${given(providerOrderId)}`);
    if (requestId) among(`SELECT id FROM orders WHERE request_id = ${given(requestId)}`);
    if (providerProxyId) {
      amongThoseOf(
        `proxies.provider = ${given(this.provider.name)} AND proxies.provider_proxy_id = ${given(providerProxyId)}`,
      );
    }
    if (host) amongThoseOf(`proxies.host = ${given(host)}`);
    if (page.cursor !== null) {
      const last = given(page.cursor);
      conditions.push(
        `(orders.created_at, orders.id) < ((SELECT created_at FROM orders WHERE id = ${last}), ${last})`,
      );
    }
    return queryRows<OrderRow>(
      this.dataSource,
      `SELECT ${ORDER_COLUMNS} FROM orders
        ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
        ORDER BY orders.created_at DESC, orders.id DESC
        LIMIT ${given(page.limit)}`,
      parameters,
    );
  }

  /** @throws OrderNotFound */
  async get(id: number): Promise<OrderDetailRow> {
    const [found] = await queryRows<OrderInDetail & { leader_tag: string | null }>(
      this.dataSource,
      `SELECT ${ORDER_COLUMNS}, orders.markup_percent, orders.price_rule_id, orders.provider, orders.provider_price,
              orders.provider_charge, orders.date_end_before, orders.deadline, orders.next_look_at, orders.looks,
              orders.nothing_seen_since, orders.token_id, orders.idempotency_key, orders.history, leader.tag AS leader_tag
         FROM orders LEFT JOIN orders leader ON leader.id = orders.group_id
        WHERE orders.id = $1`,
      [id],
    );
    if (!found) throw new OrderNotFound();
    const { leader_tag: leaderTag, ...order } = found;
    const members = await this.membersOf(order);
    const target = { type: 'order', id } as const;
    return {
      ...order,
      group:
        order.group_id === null
          ? null
          : { upstream_tag: order.kind === 'purchase' ? leaderTag : null, order_ids: members },
      entries: await queryRows(
        this.dataSource,
        `${SELECT_LEDGER_ROW} WHERE entry.order_id = $1 ORDER BY entry.seq LIMIT ${MOST_ENTRIES}`,
        [id],
      ),
      upstream_calls: await this.callsFor(members),
      proxies: await this.proxiesOf(order),
      actions: await this.log.search({ target, changesOnly: true }, { cursor: null, limit: MOST_ACTIONS }),
    };
  }

  private async membersOf({ id, group_id: groupId }: OrderRow): Promise<number[]> {
    if (groupId === null) return [id];
    const members = await queryRows<{ id: number }>(
      this.dataSource,
      'SELECT id FROM orders WHERE group_id = $1 ORDER BY id',
      [groupId],
    );
    return members.map((member) => member.id);
  }

  /** Those of a group are kept under the order that leads it; what was asked before it set off, under one of its orders. */
  private callsFor(orderIds: readonly number[]): Promise<ProviderCallRow[]> {
    return queryRows(
      this.dataSource,
      `SELECT id, method, request, outcome, http_status, duration_ms, created_at,
              CASE WHEN length(answer::text) <= ${LONGEST_ANSWER} THEN answer
                   WHEN jsonb_typeof(answer) = 'object' THEN answer || '{"list": "omitted"}'
                   ELSE '"omitted"' END AS answer
         FROM (SELECT * FROM upstream_calls WHERE order_id = ANY ($1) ORDER BY created_at DESC, id DESC LIMIT ${MOST_CALLS}) AS latest
        ORDER BY created_at, id`,
      [orderIds],
    );
  }

  private proxiesOf({ id, kind, proxy_id: proxyId }: OrderRow): Promise<OrderedProxyRow[]> {
    return queryRows(
      this.dataSource,
      `SELECT id, provider_proxy_id, host, port, active, date_end, withdrawn_at, assigned_action_id
         FROM proxies WHERE ${kind === 'purchase' ? 'order_id' : 'id'} = $1 ORDER BY id LIMIT ${MOST_PROXIES}`,
      [kind === 'purchase' ? id : proxyId],
    );
  }
}
