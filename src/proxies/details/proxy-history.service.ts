import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../../database';
import { type PageRequest, readPageBy } from '../../http';
import type { ProxyEvent, ProxyHistoryPage } from './proxy-history.dto';

interface PlacedEvent extends ProxyEvent {
  /** The event's time in Unix microseconds, a dot, and its id in `proxy_changes` or 0. */
  readonly cursor: string;
}

/** Reads purchases and prolongations from the orders, and other changes from a trigger's records. */
@Injectable()
export class ProxyHistoryService {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the newest events first. A prolongation and its `end_changed` record have the same time. */
  async read(userId: number, proxyId: number, page: PageRequest<string>): Promise<ProxyHistoryPage> {
    const find = ({ cursor, limit }: PageRequest<string>): Promise<PlacedEvent[]> => {
      const [microseconds, id] = cursor?.split('.') ?? [];
      return queryRows(
        this.dataSource,
        `WITH own AS MATERIALIZED (
           SELECT id, order_id, assigned_action_id, created_at FROM proxies WHERE id = $2 AND user_id = $1
         ),
         recorded AS MATERIALIZED (
           SELECT id, at, kind, before, after FROM proxy_changes WHERE proxy_id = $2 AND user_id = $1
         ),
         prolongation AS MATERIALIZED (
           SELECT id, closed_at, captured, date_end_before,
                  (delivered_proxies -> 0 ->> 'date_end')::timestamptz AS date_end
             FROM orders WHERE proxy_id = $2 AND user_id = $1 AND state = 'completed'
         ),
         event AS (
           SELECT own.created_at AS at, 0 AS id, orders.id AS order_id, NULL AS before, NULL AS after,
                  CASE WHEN assigned_action_id IS NULL THEN 'bought' ELSE 'assigned' END AS kind,
                  CASE WHEN assigned_action_id IS NULL THEN unit_price END AS price
             FROM own JOIN orders ON orders.id = own.order_id AND orders.user_id = $1
           UNION ALL
           SELECT closed_at, coalesce(recorded.id, 0), prolongation.id,
                  coalesce(before, iso_text(date_end_before, '')), coalesce(after, iso_text(date_end, '')),
                  'prolonged', captured
             FROM prolongation LEFT JOIN recorded ON recorded.at = closed_at AND recorded.kind = 'end_changed'
           UNION ALL
           SELECT at, id, NULL, before, after, kind, NULL
             FROM recorded WHERE kind <> 'end_changed' OR at NOT IN (SELECT closed_at FROM prolongation)
         ),
         placed AS (
           SELECT *, (extract(epoch FROM at) * 1000000)::bigint AS microseconds FROM event
         )
         SELECT at, kind AS event, order_id, price::text, before AS from, after AS to,
                microseconds || '.' || id AS cursor
           FROM placed
          WHERE $3::bigint IS NULL OR (microseconds, id) < ($3, $4::bigint)
          ORDER BY microseconds DESC, id DESC LIMIT $5`,
        [userId, proxyId, microseconds ?? null, id ?? null, limit],
      );
    };
    const { items, next_cursor: next } = await readPageBy(page, find, ({ cursor }) => cursor);
    return { items: items.map(({ cursor: _cursor, ...event }) => event), next_cursor: next };
  }
}
