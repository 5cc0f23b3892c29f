import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Conditions, type Queryable, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { ForgottenOrderRecords, OrderNotFound, PROXY_OF_ANOTHER, type WrittenOffRequest } from '../../orders';
import { OrderNotAssignable, UnmatchedProxyAssigned, UnmatchedProxyNotFound } from '../sync.errors';
import type { UnmatchedProxyOut, UnmatchedProxyState } from './sweep.dto';

const UNMATCHED_PROXY = `
  SELECT unmatched.id, coalesce(resolution, 'open') AS state, unmatched.provider, unmatched.provider_proxy_id,
         unmatched.order_reference,
         coalesce(named.id, parsed.order_id) AS named_order_id,
         coalesce(named.user_id, parsed.user_id) AS named_user_id, named.id IS NULL AS is_order_forgotten,
         unmatched.host, unmatched.port, unmatched.proxy_type, unmatched.country, unmatched.version,
         unmatched.date_start, unmatched.date_end, found_at,
         resolved_at, assigned.order_id
    FROM unmatched_proxies unmatched
    CROSS JOIN named_by_reference(unmatched.order_reference) AS parsed
    LEFT JOIN orders named ON named.order_reference = unmatched.order_reference
    LEFT JOIN proxies assigned ON resolution = 'assigned' AND assigned.provider = unmatched.provider
                              AND assigned.provider_proxy_id = unmatched.provider_proxy_id`;

@Injectable()
export class UnmatchedProxiesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: ForgottenOrderRecords,
  ) {}

  list(
    { state, order_reference }: { state: UnmatchedProxyState | null; order_reference: string | null },
    page: PageRequest,
  ): Promise<UnmatchedProxyOut[]> {
    const conditions = new Conditions();
    conditions.by(order_reference, (text) => `unmatched.order_reference = ${text}`);
    if (state) conditions.add(state === 'open' ? 'resolution IS NULL' : `resolution = '${state}'`);
    const statement = `${UNMATCHED_PROXY} ${conditions.toPageSql(page, 'unmatched.id')}`;
    return queryRows(this.dataSource, statement, conditions.parameters);
  }

  /** @throws UnmatchedProxyNotFound */
  async get(unmatchedProxyId: number, queryable: Queryable = this.dataSource): Promise<UnmatchedProxyOut> {
    const [unmatchedProxy] = await queryRows<UnmatchedProxyOut>(
      queryable,
      `${UNMATCHED_PROXY} WHERE unmatched.id = $1`,
      [unmatchedProxyId],
    );
    if (!unmatchedProxy) throw new UnmatchedProxyNotFound();
    return unmatchedProxy;
  }

  /** @throws UnmatchedProxyNotFound, UnmatchedProxyAssigned */
  async lockUndecided(unmatchedProxyId: number, manager: EntityManager): Promise<UnmatchedProxyOut> {
    await queryRows(manager, 'SELECT FROM unmatched_proxies WHERE id = $1 FOR UPDATE', [unmatchedProxyId]);
    const unmatchedProxy = await this.get(unmatchedProxyId, manager);
    if (unmatchedProxy.state === 'assigned') throw new UnmatchedProxyAssigned();
    return unmatchedProxy;
  }

  /**
   * Gives an unmatched proxy to the user of a closed purchase, free of charge.
   * @returns the user's id
   * @throws OrderNotFound, OrderNotAssignable, ProxyBelongsToAnother
   */
  async assign(
    unmatchedProxyId: number,
    orderId: number,
    actionId: number,
    manager: EntityManager,
  ): Promise<number> {
    const [order] = await queryRows<{ userId: number; takes: boolean }>(
      manager,
      `SELECT user_id AS "userId", kind = 'purchase' AND closed_at IS NOT NULL AS takes
         FROM orders WHERE id = $1 FOR KEY SHARE`,
      [orderId],
    );
    if (!order) throw new OrderNotFound();
    if (!order.takes) throw new OrderNotAssignable();
    // Lock the account before the proxy gets its id, so that ids become visible in ascending order.
    await queryRows(manager, 'SELECT FROM lock_accounts(ARRAY[$1::bigint])', [order.userId]);
    await refusedBy(PROXY_OF_ANOTHER, () =>
      queryRows(
        manager,
        `WITH resolved AS (
           UPDATE unmatched_proxies SET resolution = 'assigned', resolved_at = now() WHERE id = $1 RETURNING *
         )
         INSERT INTO proxies (user_id, order_id, provider, provider_proxy_id, order_reference,
                              assigned_action_id, host, port, login, password, proxy_type, country, version,
                              period, date_start, date_end, active, label)
         SELECT orders.user_id, orders.id, resolved.provider, resolved.provider_proxy_id,
                resolved.order_reference, $3, host, port, login, password,
                CASE WHEN resolved.proxy_type IN ('http', 'socks') THEN resolved.proxy_type
                     ELSE orders.proxy_type END,
                coalesce(resolved.country, orders.country), coalesce(resolved.version, orders.version),
                period, date_start, date_end, date_end > now(), orders.label
           FROM resolved, orders WHERE orders.id = $2`,
        [unmatchedProxyId, orderId, actionId],
      ),
    );
    await this.withdrawWriteOff(unmatchedProxyId, manager);
    return order.userId;
  }

  async forgetCredentials(days: number): Promise<number> {
    const forgotten = await queryRows(
      this.dataSource,
      `UPDATE unmatched_proxies SET login = '', password = ''
        WHERE date_end < now() - make_interval(days => $1) AND password <> ''
       RETURNING id`,
      [days],
    );
    return forgotten.length;
  }

  /** Writes off or reopens a proxy. A retry of a written-off purchase is refused. */
  async mark(unmatchedProxyId: number, state: 'open' | 'written-off', manager: EntityManager): Promise<void> {
    const [unmatchedProxy] = await queryRows<Omit<WrittenOffRequest, 'userId'> & { userId: number | null }>(
      manager,
      `UPDATE unmatched_proxies SET resolution = $2::text,
         resolved_at = CASE WHEN $2::text IS NOT NULL THEN now() END
        WHERE id = $1
       RETURNING order_reference AS "orderReference", country, version,
                 (SELECT id FROM users WHERE id = (named_by_reference(order_reference)).user_id) AS "userId",
                 round(extract(epoch FROM date_end - date_start) / 86400)::integer AS days`,
      [unmatchedProxyId, state === 'open' ? null : state],
    );
    if (state === 'open') await this.withdrawWriteOff(unmatchedProxyId, manager);
    else if (unmatchedProxy && unmatchedProxy.userId !== null) {
      await this.records.writeOff({ ...unmatchedProxy, userId: unmatchedProxy.userId }, manager);
    }
  }

  /** Withdraws the write-off of the order that the reference names, if none of its proxies is written off. */
  private async withdrawWriteOff(unmatchedProxyId: number, manager: EntityManager): Promise<void> {
    const [{ reference } = { reference: null }] = await queryRows<{ reference: string | null }>(
      manager,
      `SELECT order_reference AS reference FROM unmatched_proxies unmatched
        WHERE id = $1 AND NOT EXISTS (
          SELECT FROM unmatched_proxies other
           WHERE other.order_reference = unmatched.order_reference AND resolution = 'written-off')`,
      [unmatchedProxyId],
    );
    if (reference !== null) await this.records.withdrawWriteOff(reference, manager);
  }
}
