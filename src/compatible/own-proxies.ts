import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common';
import { Conditions, queryRow, queryRows, sqlList, waitForStandby } from '../database';
import { CLOSED_FOR_MAINTENANCE, OPEN_STATES } from '../orders';
import { OutcomeNotKnown, WireError } from './wire-error';
import { type ProxyFields, wireProxy } from './wire-formats';

const STATES = ['active', 'expired', 'expiring', 'all'] as const;
type ListingState = (typeof STATES)[number];

export const listingStateOf = (text: string | null): ListingState =>
  STATES.find((state) => state === text) ?? 'all';

export interface ListingQuery {
  readonly state: ListingState;
  /** `null` for any label. */
  readonly descr: string | null;
  readonly page: number;
  readonly limit: number;
}

/** `state=expiring` lists active proxies with at most this much time left. */
const EXPIRING = `interval '3 days'`;
/** Shortened, because our labels may be longer than PROXY6's. */
const LABEL = `left(coalesce(label, ''), 50)`;

interface Row extends ProxyFields {
  readonly country: string;
  readonly descr: string;
}

@Injectable()
export class OwnProxies {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** @throws OutcomeNotKnown while an open order may still change the label's proxies */
  async list(userId: number, { state, descr, page, limit }: ListingQuery) {
    if (descr !== null) await this.assertKnown(userId, descr);
    const wanted = new Conditions();
    const now = wanted.given(this.clock.now());
    wanted.add(`user_id = ${wanted.given(userId)} AND withdrawn_at IS NULL`);
    wanted.by(descr, (place) => `label = ${place}`);
    if (state === 'expired') wanted.add(`date_end <= ${now}`);
    if (state === 'active' || state === 'expiring') wanted.add(`date_end > ${now}`);
    if (state === 'expiring') wanted.add(`date_end <= ${now}::timestamptz + ${EXPIRING}`);
    const rows = await queryRows<Row>(
      this.dataSource,
      `SELECT id::text AS id, version, host, port, login, password, proxy_type AS "proxyType", country,
              date_start AS "dateStart", date_end AS "dateEnd", date_end > ${now} AS active, ${LABEL} AS descr
         FROM proxies ${wanted.toSql()}
        ORDER BY proxies.id OFFSET ${wanted.given((page - 1) * limit)} LIMIT ${wanted.given(limit)}`,
      wanted.parameters,
    );
    if (descr !== null) await waitForStandby(this.dataSource);
    return rows.map((row) => ({ ...wireProxy(row), country: row.country, descr: row.descr }));
  }

  /**
   * Must run before the list is read. Otherwise, an order could close after the read and before this check,
   * and the list would lack its proxies.
   */
  private async assertKnown(userId: number, descr: string): Promise<void> {
    const { isOpen } = await queryRow<{ isOpen: boolean }>(
      this.dataSource,
      `SELECT ${CLOSED_FOR_MAINTENANCE} OR EXISTS (
         SELECT FROM orders
          WHERE user_id = $1 AND state <> 'completed' AND state IN ${sqlList(OPEN_STATES)}
            AND (label = $2
                 OR proxy_id IN (SELECT id FROM proxies WHERE user_id = $1 AND proxies.label = $2)))
         AS "isOpen"`,
      [userId, descr],
    );
    if (isOpen) throw new OutcomeNotKnown();
  }

  /** @throws WireError */
  async findId(userId: number, proxy: string): Promise<string> {
    const parts = /^([\w.:-]{1,253}):(\d{1,5}):([^:\0]{1,255}):([^:\0]{1,255})$/.exec(proxy);
    const [, host, port = '', login, password] = parts ?? [];
    if (!parts || Number(port) === 0 || Number(port) > 65_535) throw new WireError(280);
    const [found] = await queryRows<{ id: string }>(
      this.dataSource,
      `SELECT id::text AS id FROM proxies
        WHERE user_id = $1 AND host = $2 AND port = $3 AND login = $4 AND password = $5
          AND withdrawn_at IS NULL
        ORDER BY id DESC LIMIT 1`,
      [userId, host, port, login, password],
    );
    if (!found) throw new WireError(404);
    return found.id;
  }

  /** @throws WireError */
  async find(
    userId: number,
    by: { readonly ids: readonly string[] } | { readonly descr: string },
  ): Promise<{ id: number; proxyType: string }[]> {
    const [condition, value] = 'ids' in by ? ['id = ANY ($2::bigint[])', by.ids] : ['label = $2', by.descr];
    const found = await queryRows<{ id: number; proxyType: string }>(
      this.dataSource,
      `SELECT id, proxy_type AS "proxyType" FROM proxies
        WHERE user_id = $1 AND ${condition} AND withdrawn_at IS NULL ORDER BY id`,
      [userId, value],
    );
    if (found.length === 0) throw new WireError(404);
    return found;
  }
}
