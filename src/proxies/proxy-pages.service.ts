import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common';
import { queryRow } from '../database';
import { SHOWN } from './export/proxy-export.service';
import { isUnfiltered, type ProxyFilter, proxyFilterSql } from './filter/proxy-filter';

export const MAX_PAGE = 1000;

/**
 * How many proxies are read for a filtered page. If the user has more, a page may contain fewer than its
 * limit although there is a next one.
 */
export const LOOKED_AT = 10_000;

export interface ProxyPageRequest {
  readonly filter: ProxyFilter;
  /** The last id of the previous page; null for the first page. */
  readonly cursor: number | null;
  /** Up to {@link MAX_PAGE}. */
  readonly limit: number;
}

export interface ProxyPage {
  /** A JSON array. */
  readonly json: string;
  /** The cursor of the next page; null on the last one. */
  readonly next: number | null;
}

/** Reads a user's proxies in pages, ordered by id. The time of a page does not grow with their number. */
@Injectable()
export class ProxyPagesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  async read(userId: number, { filter, cursor, limit }: ProxyPageRequest): Promise<ProxyPage> {
    const parameters: unknown[] = [this.clock.now(), userId, cursor ?? 0, limit];
    const condition = proxyFilterSql(filter, (value) => `$${parameters.push(value)}`, '$1');
    // Unfiltered pages need no bound, nor do the proxies of an order, which an index finds.
    const isBounded = filter.orderId === null && !isUnfiltered(filter);
    const page = await queryRow<{ text: string | null; last: number; found: number; end: number | null }>(
      this.dataSource,
      `WITH bound AS MATERIALIZED (
         SELECT max(id) AS id FROM (
           SELECT id FROM proxies WHERE ${isBounded} AND user_id = $2 AND id > $3
            ORDER BY id OFFSET ${LOOKED_AT - 1} LIMIT 1) AS looked_at
       )
       SELECT string_agg(part, ',' ORDER BY id) FILTER (WHERE n <= $4) AS text,
              max(id) FILTER (WHERE n <= $4) AS last, count(*) AS found, (SELECT id FROM bound) AS end
         FROM (SELECT id, (SELECT row_to_json(proxy)::text FROM (${SHOWN}) AS proxy) AS part,
                      row_number() OVER (ORDER BY id) AS n
                 FROM proxies
                WHERE user_id = $2 AND id > $3 AND ${condition}
                  ${isBounded ? 'AND id <= coalesce((SELECT id FROM bound), 9223372036854775807)' : ''}
                ORDER BY id LIMIT $4 + 1) AS parts`,
      parameters,
    );
    return { json: `[${page.text ?? ''}]`, next: page.found > limit ? page.last : page.end };
  }
}
