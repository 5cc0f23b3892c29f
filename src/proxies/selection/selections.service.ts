import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { IpVersion, ProxyType } from '../../common';
import { queryRow, queryRows } from '../../database';
import { type ProxyFilter, proxyFilterSql } from '../filter/proxy-filter';
import { toProxyFilter } from '../filter/proxy-filter.query';
import { PROXY_ID } from '../proxies.service';
import { MAX_SELECTED, type ProxySelection } from './proxy-selection.dto';
import { NothingSelected, SelectedTwice, TooManySelected } from './selection.errors';

/** The selection of a request: ids as given, without duplicates, or a filter. */
export type Selection = { readonly ids: readonly string[] } | { readonly filter: ProxyFilter };

export interface SelectedProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly proxyType: ProxyType;
  readonly country: string;
  readonly version: IpVersion;
}

/** A selected id and its proxy, which is null if the user has none with this id. */
export interface Selected {
  readonly proxyId: string;
  readonly proxy: SelectedProxy | null;
}

const COLUMNS = 'id, host, port, proxy_type AS "proxyType", country, version';

/** @throws NothingSelected, SelectedTwice */
export function readSelection({ proxy_ids: ids, filter }: ProxySelection): Selection {
  if (ids === null && filter === null) throw new NothingSelected();
  if (ids !== null && filter !== null) throw new SelectedTwice();
  return filter === null ? { ids: [...new Set(ids)] } : { filter: toProxyFilter(filter) };
}

@Injectable()
export class SelectionsService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Returns selected ids in their given order, and proxies of a filter in the order of their ids.
   *
   * @throws TooManySelected
   */
  async find(userId: number, selection: Selection): Promise<Selected[]> {
    if ('filter' in selection) {
      const matching = await this.match(userId, selection.filter);
      return matching.map((proxy) => ({ proxyId: String(proxy.id), proxy }));
    }
    const ids = selection.ids.filter((id) => PROXY_ID.test(id));
    const rows = await queryRows<SelectedProxy>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM proxies WHERE user_id = $1 AND id = ANY ($2)`,
      [userId, ids],
    );
    const byId = new Map(rows.map((proxy) => [String(proxy.id), proxy]));
    return selection.ids.map((proxyId) => ({ proxyId, proxy: byId.get(proxyId) ?? null }));
  }

  private async match(userId: number, filter: ProxyFilter): Promise<SelectedProxy[]> {
    const values: unknown[] = [userId];
    const condition = proxyFilterSql(filter, (value) => `$${values.push(value)}`, 'now()');
    const rows = await queryRows<SelectedProxy>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM proxies
        WHERE user_id = $1 AND ${condition} ORDER BY id LIMIT ${MAX_SELECTED + 1}`,
      values,
    );
    if (rows.length <= MAX_SELECTED) return rows;
    const { matching } = await queryRow<{ matching: number }>(
      this.dataSource,
      `SELECT count(*) AS matching FROM proxies WHERE user_id = $1 AND ${condition}`,
      values,
    );
    throw new TooManySelected(matching);
  }
}
