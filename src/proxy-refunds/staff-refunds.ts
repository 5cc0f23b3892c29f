import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Conditions, type Queryable, queryRows } from '../database';
import type { PageRequest } from '../http';
import type {
  CustomerRefundShareOut,
  RefundSharesOut,
  ProxyRefundState,
  StaffRefundOut,
} from './dto/refund.dto';
import { ProxyRefundRecords } from './proxy-refund-records';
import { RefundNotForStaff, ProxyRefundNotFound, RefundWaits } from './proxy-refunds.errors';

export interface StaffRefundFilter {
  readonly state: ProxyRefundState | null;
  readonly user_id: number | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

const SHOWN = `
  SELECT refund.id, state, reason, refund.user_id, proxy_id, provider_proxy_id, host,
         CASE WHEN host ~ '^(\\d+\\.){3}\\d+$' THEN regexp_replace(host, '\\d+$', '0/24') END AS subnet,
         country, version, failures, failed_at, next_check_at,
         coalesce(amount, refund_amount(proxy_id, requested_at, NULL)) AS amount,
         CASE WHEN amount IS NULL THEN refund_amount(proxy_id, requested_at, last_order_id) END
           AS amount_at_request,
         is_prolonged_since(proxy_id, last_order_id) AS is_prolonged_since,
         requested_at, closed_at, deleted_at,
         CASE WHEN state = 'staff' THEN format('/staff/refunds/%s/decide?decision=refund', refund.id) END
           AS decide
    FROM proxy_refunds refund JOIN proxies ON proxies.id = proxy_id`;

const MOST_CUSTOMERS = 100;

@Injectable()
export class StaffRefunds {
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: ProxyRefundRecords,
  ) {}

  list(
    { state, user_id: userId, from, to }: StaffRefundFilter,
    page: PageRequest,
  ): Promise<StaffRefundOut[]> {
    const conditions = new Conditions();
    conditions.by(state, (name) => `state = ${name}`);
    conditions.by(userId, (id) => `refund.user_id = ${id}`);
    conditions.by(from, (moment) => `requested_at >= ${moment}`);
    conditions.by(to, (moment) => `requested_at < ${moment}`);
    const statement = `${SHOWN} ${conditions.toPageSql(page, 'refund.id')}`;
    return queryRows(this.dataSource, statement, conditions.parameters);
  }

  /**
   * Returns the sums for all customers combined, and for each of the customers with the largest sums.
   * @param paid roubles paid by all customers combined since the day `since` (UTC)
   */
  async shares(since: string, paid: string, userId: number | null): Promise<RefundSharesOut> {
    const [all, ...customers] = await queryRows<CustomerRefundShareOut>(
      this.dataSource,
      `WITH sums AS MATERIALIZED (
         SELECT user_id, coalesce(sum(amount), 0)::numeric(14,2) AS refunded
           FROM proxy_refunds
          WHERE state = 'refunded' AND action_id IS NULL
            AND closed_at >= $1::date::timestamp AT TIME ZONE 'UTC'
          GROUP BY GROUPING SETS ((), (user_id))
         HAVING user_id IS NULL OR user_id = coalesce($3, user_id)
          ORDER BY user_id IS NOT NULL, refunded DESC, user_id LIMIT $4
       )
       SELECT user_id, paid, refunded, round(100 * refunded / nullif(paid, 0), 1) AS share_percent
         FROM sums, LATERAL (
                SELECT CASE WHEN sums.user_id IS NULL THEN $2::numeric(14,2)
                            ELSE coalesce(sum(captured), 0)::numeric(14,2) END AS paid
                  FROM orders
                 WHERE orders.user_id = sums.user_id AND captured > 0
                   AND closed_at >= $1::date::timestamp AT TIME ZONE 'UTC') AS own
        ORDER BY user_id IS NOT NULL, refunded DESC, user_id`,
      [since, paid, userId, 1 + MOST_CUSTOMERS],
    );
    if (!all) throw new Error('the database returned no total');
    const { user_id: _, ...total } = all;
    return { ...total, customers };
  }

  /** @throws ProxyRefundNotFound, RefundNotForStaff */
  async lock(id: number, manager: EntityManager): Promise<StaffRefundOut> {
    const isLeft = await this.records.lock(id, 'staff', manager);
    const refund = await this.get(id, manager);
    if (!isLeft) throw new RefundNotForStaff();
    return refund;
  }

  /** @throws ProxyRefundNotFound */
  async get(id: number, queryable: Queryable = this.dataSource): Promise<StaffRefundOut> {
    const [refund] = await queryRows<StaffRefundOut>(queryable, `${SHOWN} WHERE refund.id = $1`, [id]);
    if (!refund) throw new ProxyRefundNotFound();
    return refund;
  }

  /** @throws RefundWaits */
  async refund(id: number, manager: EntityManager): Promise<void> {
    const obstacle = await this.records.refund(id, false, manager);
    if (obstacle !== null) throw new RefundWaits();
  }

  async refuse(id: number, manager: EntityManager): Promise<void> {
    await queryRows(
      manager,
      `UPDATE proxy_refunds SET state = 'refused', reason = 'not-refundable', closed_at = now()
        WHERE id = $1`,
      [id],
    );
  }

  async recordDecision(id: number, actionId: number, manager: EntityManager): Promise<void> {
    await queryRows(manager, 'UPDATE proxy_refunds SET action_id = $2 WHERE id = $1', [id, actionId]);
  }

  announce(id: number): void {
    void this.records.awaited.changed([id]);
  }
}
