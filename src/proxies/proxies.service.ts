import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, isId } from '../common';
import { AppConfig } from '../config';
import { batchedLookup, preparedRows, queryRow, queryRows } from '../database';
import type { PageRequest } from '../http';
import { type ProxyOut, toProxyOut } from './dto/proxy-out.dto';
import { EXPORTED_COLUMNS } from './export/proxy-export.service';
import { isUnfiltered, type ProxyFilter, proxyFilterSql } from './filter/proxy-filter';
import { ProxyNotFound } from './proxies.errors';
import { type Proxy, PROXY_COLUMNS } from './proxy';
import { PING_TIMEOUT_MS, tcpPing } from './tcp-ping';

/** Maximum number of proxies read for a filtered page, which may then be shorter than requested. */
export const MAX_FILTERED = 10_000;

export interface ProxyPageRequest extends PageRequest {
  readonly filter: ProxyFilter;
}

@Injectable()
export class ProxiesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws ProxyNotFound even for an id that is not a number */
  async get(userId: number, proxyId: string): Promise<Proxy> {
    if (!isId(proxyId)) throw new ProxyNotFound();
    const [proxy] = await preparedRows<Proxy>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS} FROM proxies WHERE id = $1 AND user_id = $2`,
      [Number(proxyId), userId],
    );
    if (!proxy) throw new ProxyNotFound();
    return proxy;
  }

  /** Returns JSON, ordered by id. Takes no longer for users with more proxies. */
  async readPage(
    userId: number,
    { filter, cursor, limit }: ProxyPageRequest,
  ): Promise<{ readonly json: string; readonly next: number | null }> {
    const parameters: unknown[] = [this.clock.now(), userId, cursor ?? 0, limit];
    const condition = proxyFilterSql(filter, (value) => `$${parameters.push(value)}`, '$1');
    // Limit how many proxies are read, except for unfiltered pages and the proxies of one order: for these,
    // an index finds exactly the wanted rows.
    const isBounded = filter.orderId === null && !isUnfiltered(filter);
    const page = await queryRow<{ text: string | null; last: number; found: number; end: number | null }>(
      this.dataSource,
      `WITH bound AS MATERIALIZED (
         SELECT max(id) AS id FROM (
           SELECT id FROM proxies WHERE ${isBounded} AND user_id = $2 AND id > $3
            ORDER BY id OFFSET ${MAX_FILTERED - 1} LIMIT 1) AS looked_at
       )
       SELECT string_agg(part, ',' ORDER BY id) FILTER (WHERE n <= $4) AS text,
              max(id) FILTER (WHERE n <= $4) AS last, count(*) AS found, (SELECT id FROM bound) AS end
         FROM (SELECT id, (SELECT row_to_json(proxy)::text FROM (${EXPORTED_COLUMNS}) AS proxy) AS part,
                      row_number() OVER (ORDER BY id) AS n
                 FROM proxies
                WHERE user_id = $2 AND id > $3 AND ${condition}
                  ${isBounded ? 'AND id <= coalesce((SELECT id FROM bound), 9223372036854775807)' : ''}
                ORDER BY id LIMIT $4 + 1) AS parts`,
      parameters,
    );
    return { json: `[${page.text ?? ''}]`, next: page.found > limit ? page.last : page.end };
  }

  /** Returns the current state of the proxies that an order bought or prolonged. */
  async ofOrder(order: { id: number; proxyId: number | null }): Promise<ProxyOut[]> {
    const proxies = await (order.proxyId === null
      ? this.lookUpByOrder(order.id)
      : this.lookUpById(order.proxyId));
    const now = this.clock.now();
    return (proxies ?? []).map((proxy) => toProxyOut(proxy, now));
  }

  /** Batched, because orders that share a provider call are completed at the same time. */
  private readonly lookUpByOrder = batchedLookup(async (orderIds: readonly number[]) => {
    const rows = await preparedRows<Proxy>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS} FROM proxies WHERE order_id = ANY ($1) ORDER BY id`,
      [orderIds],
    );
    const byOrder = new Map<number, Proxy[]>(orderIds.map((id) => [id, []]));
    for (const row of rows) byOrder.get(row.orderId)?.push(row);
    return byOrder;
  });

  private readonly lookUpById = batchedLookup(async (ids: readonly number[]) => {
    const rows = await preparedRows<Proxy>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS} FROM proxies WHERE id = ANY ($1)`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, [row]]));
  });

  async findActive(userId: number): Promise<Proxy | null> {
    const [proxy] = await queryRows<Proxy>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS} FROM proxies WHERE user_id = $1 AND date_end > $2 AND withdrawn_at IS NULL
        ORDER BY id LIMIT 1`,
      [userId, this.clock.now()],
    );
    return proxy ?? null;
  }

  /** Returns the time of withdrawal by proxy id; omits proxies that are not withdrawn. */
  async withdrawals(proxyIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    const withdrawn = await preparedRows<{ id: number; withdrawnAt: Date }>(
      this.dataSource,
      `SELECT id, withdrawn_at AS "withdrawnAt" FROM proxies
        WHERE id = ANY ($1) AND withdrawn_at IS NOT NULL`,
      [proxyIds],
    );
    return new Map(withdrawn.map(({ id, withdrawnAt }) => [id, withdrawnAt]));
  }

  /** Returns milliseconds; null if the proxy cannot be reached. @throws ProxyNotFound */
  async ping(userId: number, proxyId: string): Promise<number | null> {
    const { host, port } = await this.get(userId, proxyId);
    const timeoutMs = this.config.tuning.pingTimeoutMs ?? PING_TIMEOUT_MS;
    return tcpPing(host, Number(port), timeoutMs).catch(() => null);
  }
}
