import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AccessRecheck, type RequestWait } from '../../auth';
import { isId } from '../../common';
import { preparedRow, preparedRows } from '../../database';
import { assertPeriod, CursorUnknown, type Page, readPage, RequestsUnderWay } from '../../http';
import { errorOfFailure } from '../order-failures';
import { OrderQueries } from '../order-queries';
import { isOpen, type OrderState, publicState } from '../order-states';
import { OrderNotFound } from '../orders.errors';
import type { OrderedItem } from '../placing/new-order';
import type { OrderDetails, OrderSummary } from './dto/order.dto';
import type { OrdersQuery } from './dto/orders.query';
import { LISTED_COLUMNS, toListStatement } from './order-list';

type ListedOrder = Omit<OrderSummary, 'state' | 'reason'> & {
  readonly state: OrderState;
  readonly failure: string | null;
};

type DetailedOrder = ListedOrder & { readonly proxies: readonly string[] };

type EqualItem =
  | Pick<OrderedItem, 'country' | 'version' | 'period' | 'count' | 'proxyType'>
  | { readonly proxyIds: readonly number[] };

const NO_PURCHASE = { country: null, version: null, period: null, count: null, proxyType: null };
/** A few are enough to notice a duplicate order. */
const MAX_EQUAL = 20;

@Injectable()
export class OrderReadingService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: OrderQueries,
    private readonly underWay: RequestsUnderWay,
    private readonly access: AccessRecheck,
  ) {}

  /** @throws InvalidPeriod, CursorUnknown */
  async list(userId: number, query: OrdersQuery): Promise<Page<OrderSummary>> {
    const { from, to, sort, cursor } = query;
    assertPeriod(from, to);
    const page = await readPage(query, async (wider) => {
      const { statement, parameters } = toListStatement(userId, query, wider);
      return (await preparedRows<ListedOrder>(this.dataSource, statement, parameters)).map(toSummary);
    });
    if (sort === 'oldest' && cursor !== null && page.items.length === 0) await this.assertGiven(cursor);
    return page;
  }

  /** @throws CursorUnknown if the cursor is above the last assigned id */
  private async assertGiven(cursor: number): Promise<void> {
    const { last } = await preparedRow<{ last: number | null }>(
      this.dataSource,
      `SELECT pg_sequence_last_value('orders_id_seq') AS last`,
    );
    if (cursor > (last ?? 0)) throw new CursorUnknown(cursor, 'query', 'cursor');
  }

  /**
   * @throws OrderNotFound, even for an id that is not a number; TooManyUnderWay; the access check's errors
   */
  async read(userId: number, orderId: string, wait: RequestWait): Promise<OrderDetails> {
    const order = await this.find(userId, orderId);
    if (order.closed_at !== null || wait.seconds === 0) return toSummary(order);
    await this.underWay.run('wait', userId, () =>
      this.queries.awaited.until(order.id, ({ state }) => !isOpen(state), wait.seconds * 1000, wait.hungUp),
    );
    if (wait.hungUp.aborted) return toSummary(order);
    await this.access.assertStillAllowed(wait.request, 'proxies:read');
    return toSummary(await this.find(userId, orderId));
  }

  async findEqual(userId: number, item: EqualItem): Promise<OrderSummary[]> {
    const { country, version, period, count, proxyType } = 'country' in item ? item : NO_PURCHASE;
    const rows = await preparedRows<ListedOrder>(
      this.dataSource,
      `SELECT ${LISTED_COLUMNS} FROM orders
        WHERE user_id = $1 AND created_at > now() - interval '1 hour' AND state <> 'canceled'
          AND CASE kind WHEN 'prolongation' THEN proxy_id = ANY ($2)
                        ELSE (country, version, period, count, proxy_type) = ($3, $4, $5, $6, $7) END
        ORDER BY id DESC LIMIT ${MAX_EQUAL}`,
      [userId, 'proxyIds' in item ? item.proxyIds : [], country, version, period, count, proxyType],
    );
    return rows.map(toSummary);
  }

  private async find(userId: number, orderId: string): Promise<DetailedOrder> {
    const [order] = isId(orderId)
      ? await preparedRows<DetailedOrder>(
          this.dataSource,
          `SELECT ${LISTED_COLUMNS},
                  CASE WHEN kind = 'purchase'
                       THEN ARRAY(SELECT proxies.id::text FROM proxies WHERE order_id = orders.id
                                   ORDER BY proxies.id)
                       WHEN captured > 0 THEN ARRAY[proxy_id::text]
                       ELSE '{}' END AS proxies
             FROM orders WHERE id = $1 AND user_id = $2`,
          [Number(orderId), userId],
        )
      : [];
    if (!order) throw new OrderNotFound();
    return order;
  }
}

function toSummary<Order extends ListedOrder>({ failure, ...order }: Order) {
  const { kind, state } = order;
  const reason = state === 'canceled' ? errorOfFailure(kind, failure).detail : null;
  return { ...order, state: publicState(state), reason };
}
