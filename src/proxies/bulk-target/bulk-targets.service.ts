import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type IpVersion, isId, type ProxyType } from '../../common';
import { queryRow, queryRows } from '../../database';
import { type ProxyFilter, proxyFilterSql } from '../filter/proxy-filter';
import { toProxyFilter } from '../filter/proxy-filter.query';
import { MAX_TARGETS, type BulkTargetRequest } from './bulk-target.dto';
import { TargetMissing, TwoTargets, TooManyTargets } from './bulk-target.errors';

/** Either distinct ids in the given order, or a filter. */
export type BulkTarget = { readonly ids: readonly string[] } | { readonly filter: ProxyFilter };

export interface TargetProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly proxyType: ProxyType;
  readonly country: string;
  readonly version: IpVersion;
}

/** `proxy` is null if the user has no proxy with this id. */
export interface Target {
  readonly proxyId: string;
  readonly proxy: TargetProxy | null;
}

const COLUMNS = 'id, host, port, proxy_type AS "proxyType", country, version';

/** @throws TargetMissing, TwoTargets */
export function readBulkTarget({ proxy_ids: ids, filter }: BulkTargetRequest): BulkTarget {
  if (ids === null && filter === null) throw new TargetMissing();
  if (ids !== null && filter !== null) throw new TwoTargets();
  return filter === null ? { ids: [...new Set(ids)] } : { filter: toProxyFilter(filter) };
}

@Injectable()
export class BulkTargetsService {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns proxies in the given order or, for a filter, ordered by id. @throws TooManyTargets */
  async find(userId: number, target: BulkTarget): Promise<Target[]> {
    if ('filter' in target) {
      const matching = await this.match(userId, target.filter);
      return matching.map((proxy) => ({ proxyId: String(proxy.id), proxy }));
    }
    const ids = target.ids.filter(isId);
    const rows = await queryRows<TargetProxy>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM proxies WHERE user_id = $1 AND id = ANY ($2)`,
      [userId, ids],
    );
    const byId = new Map(rows.map((proxy) => [String(proxy.id), proxy]));
    return target.ids.map((proxyId) => ({ proxyId, proxy: byId.get(proxyId) ?? null }));
  }

  private async match(userId: number, filter: ProxyFilter): Promise<TargetProxy[]> {
    const values: unknown[] = [userId];
    const condition = proxyFilterSql(filter, (value) => `$${values.push(value)}`, 'now()');
    const rows = await queryRows<TargetProxy>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM proxies
        WHERE user_id = $1 AND ${condition} ORDER BY id LIMIT ${MAX_TARGETS + 1}`,
      values,
    );
    if (rows.length <= MAX_TARGETS) return rows;
    const { matching } = await queryRow<{ matching: number }>(
      this.dataSource,
      `SELECT count(*) AS matching FROM proxies WHERE user_id = $1 AND ${condition}`,
      values,
    );
    throw new TooManyTargets(matching);
  }
}
