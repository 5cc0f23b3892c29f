import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Conditions, type Queryable, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { ForgottenOrderRecords, OrderNotFound, PROXY_OF_ANOTHER, type WrittenOffRequest } from '../../orders';
import { OrderNotAssignable, OrphanAssigned, OrphanNotFound } from '../sync.errors';
import type { OrphanOut, OrphanState } from './sweep.dto';

const ORPHAN = `
  SELECT orphan.id, coalesce(resolution, 'open') AS state, orphan.provider, orphan.provider_proxy_id,
         orphan.tag,
         coalesce(named.id, tagged.order_id) AS tag_order_id,
         coalesce(named.user_id, tagged.user_id) AS tag_user_id, named.id IS NULL AS is_order_forgotten,
         orphan.host, orphan.port, orphan.proxy_type, orphan.country, orphan.version, orphan.date_start,
         orphan.date_end, found_at,
         resolved_at, assigned.order_id
    FROM orphans orphan
    CROSS JOIN named_by_tag(orphan.tag) AS tagged
    LEFT JOIN orders named ON named.tag = orphan.tag
    LEFT JOIN proxies assigned ON resolution = 'assigned' AND assigned.provider = orphan.provider
                              AND assigned.provider_proxy_id = orphan.provider_proxy_id`;

/**
 * Orphans: proxies that the provider lists under our tags and that no order accounts for. Staff assign each
 * to an order, or write it off.
 */
@Injectable()
export class OrphansService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: ForgottenOrderRecords,
  ) {}

  /** Newest first. @param filter.tag under which the provider lists them */
  list(
    { state, tag }: { state: OrphanState | null; tag: string | null },
    page: PageRequest,
  ): Promise<OrphanOut[]> {
    const conditions = new Conditions();
    conditions.by(tag, (text) => `orphan.tag = ${text}`);
    if (state) conditions.add(state === 'open' ? 'resolution IS NULL' : `resolution = '${state}'`);
    const statement = `${ORPHAN} ${conditions.toPageSql(page, 'orphan.id')}`;
    return queryRows(this.dataSource, statement, conditions.parameters);
  }

  /** @throws OrphanNotFound */
  async get(orphanId: number, queryable: Queryable = this.dataSource): Promise<OrphanOut> {
    const [orphan] = await queryRows<OrphanOut>(queryable, `${ORPHAN} WHERE orphan.id = $1`, [orphanId]);
    if (!orphan) throw new OrphanNotFound();
    return orphan;
  }

  /**
   * Locks an orphan until the transaction ends, so that decisions about it run one after the other.
   *
   * @throws OrphanNotFound, OrphanAssigned
   */
  async lockUndecided(orphanId: number, manager: EntityManager): Promise<OrphanOut> {
    await queryRows(manager, 'SELECT FROM orphans WHERE id = $1 FOR UPDATE', [orphanId]);
    const orphan = await this.get(orphanId, manager);
    if (orphan.state === 'assigned') throw new OrphanAssigned();
    return orphan;
  }

  /**
   * Gives an orphan to the user of a closed purchase, free of charge.
   *
   * @param actionId the entry in the audit log
   * @returns the id of the user
   * @throws OrderNotFound, OrderNotAssignable, ProxyBelongsToAnother
   */
  async assign(orphanId: number, orderId: number, actionId: number, manager: EntityManager): Promise<number> {
    const [order] = await queryRows<{ userId: number; takes: boolean }>(
      manager,
      `SELECT user_id AS "userId", kind = 'purchase' AND closed_at IS NOT NULL AS takes
         FROM orders WHERE id = $1 FOR KEY SHARE`,
      [orderId],
    );
    if (!order) throw new OrderNotFound();
    if (!order.takes) throw new OrderNotAssignable();
    // As in every delivery, proxies of a user become visible in the order of their ids.
    await queryRows(manager, 'SELECT FROM lock_accounts(ARRAY[$1::bigint])', [order.userId]);
    await refusedBy(PROXY_OF_ANOTHER, () =>
      queryRows(
        manager,
        `WITH resolved AS (
           UPDATE orphans SET resolution = 'assigned', resolved_at = now() WHERE id = $1 RETURNING *
         )
         INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, tag, assigned_action_id, host,
                              port, login, password, proxy_type, country, version, period, date_start,
                              date_end, active)
         SELECT orders.user_id, orders.id, resolved.provider, resolved.provider_proxy_id, resolved.tag, $3,
                host, port, login, password,
                CASE resolved.proxy_type WHEN 'auto' THEN orders.proxy_type ELSE resolved.proxy_type END,
                coalesce(resolved.country, orders.country), coalesce(resolved.version, orders.version),
                period, date_start, date_end, date_end > now()
           FROM resolved, orders WHERE orders.id = $2`,
        [orphanId, orderId, actionId],
      ),
    );
    await this.withdrawWriteOff(orphanId, manager);
    return order.userId;
  }

  /** Removes the logins and passwords of orphans whose rental ended some days ago. Returns their number. */
  async forgetCredentials(days: number): Promise<number> {
    const forgotten = await queryRows(
      this.dataSource,
      `UPDATE orphans SET login = '', password = ''
        WHERE date_end < now() - make_interval(days => $1) AND password <> ''
       RETURNING id`,
      [days],
    );
    return forgotten.length;
  }

  /**
   * `written-off`: it requires no further decision; `open`: it requires one again. A retry does not buy a
   * forgotten purchase again that was written off, unless staff deliver it after all.
   */
  async mark(orphanId: number, state: 'open' | 'written-off', manager: EntityManager): Promise<void> {
    const [orphan] = await queryRows<Omit<WrittenOffRequest, 'userId'> & { userId: number | null }>(
      manager,
      `UPDATE orphans SET resolution = $2::text, resolved_at = CASE WHEN $2::text IS NOT NULL THEN now() END
        WHERE id = $1
       RETURNING (SELECT id FROM users WHERE id = (named_by_tag(tag)).user_id) AS "userId", tag, country,
                 version, round(extract(epoch FROM date_end - date_start) / 86400)::integer AS days`,
      [orphanId, state === 'open' ? null : state],
    );
    if (state === 'open') await this.withdrawWriteOff(orphanId, manager);
    else if (orphan && orphan.userId !== null) {
      await this.records.writeOff({ ...orphan, userId: orphan.userId }, manager);
    }
  }

  /** The order in the tag counts as written off while any orphan of the tag does. */
  private async withdrawWriteOff(orphanId: number, manager: EntityManager): Promise<void> {
    const [{ tag } = { tag: null }] = await queryRows<{ tag: string | null }>(
      manager,
      `SELECT tag FROM orphans orphan
        WHERE id = $1 AND NOT EXISTS (SELECT FROM orphans other
                                       WHERE other.tag = orphan.tag AND resolution = 'written-off')`,
      [orphanId],
    );
    if (tag !== null) await this.records.withdrawWriteOff(tag, manager);
  }
}
