import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import {
  RowWaiters,
  inQueueOf,
  inTransaction,
  Notifier,
  type Queryable,
  queryRow,
  queryRows,
} from '../database';
import { RetryClockCorrection } from '../jobs';
import type { Proxy, ProxyCheckReason, ProxyToCheck } from '../proxies';
import type { ProxyRefundRefusal, ProxyRefundState } from './dto/refund.dto';

export interface ProxyRefundRow {
  readonly id: number;
  readonly state: ProxyRefundState;
  readonly reason: string | null;
  readonly amount: string;
  readonly failed_checks: number;
  readonly requested_at: Date;
  readonly closed_at: Date | null;
  /** False for a refusal over an hour old: the next request then begins a new refund. */
  readonly stands: boolean;
}

export interface ProxyRefundFacts {
  readonly is_in_period: boolean;
  readonly amount: string;
  readonly is_within_quota: boolean;
  /** Whether a refund has to wait for an open order or an open change of the proxy's type. */
  readonly waits: boolean;
}

export interface DueProxyRefund extends ProxyToCheck {
  readonly id: number;
  readonly proxyId: number;
  readonly userId: number;
  readonly requestedAt: Date;
  readonly version: string;
  readonly providerProxyId: string;
  readonly failures: number;
  readonly isWithdrawn: boolean;
  /** Whether a day has passed without a decision, or the rental has ended. */
  readonly isLate: boolean;
  /** Whether a listing has confirmed the proxy's host, port, login and type, and nothing is changing them. */
  readonly isConfirmed: boolean;
}

/** A limit of the refund rule, or an obstacle from `refund_proxy.sql`. */
export type ProxyRefundObstacle =
  | 'rule-disabled'
  | 'refund-quota-used'
  | 'daily-sum'
  | 'refunded'
  | 'open'
  | 'assigned'
  | 'refunded-by-staff'
  | 'withdrawn'
  | 'prolonged';

/** A proxy that fails this soon after its delivery may just not be set up yet. */
const MINUTES_AFTER_DELIVERY = 10;
const LONGEST_PAUSE = `(SELECT make_interval(mins => greatest(${MINUTES_AFTER_DELIVERY}, 2 * minutes_between))
                          FROM refund_rule)`;

export const DUE_REFUNDS = `FROM proxy_refunds WHERE state = 'checking' AND next_check_at <= now()`;

@Injectable()
export class ProxyRefundRecords {
  readonly awaited: RowWaiters<{ readonly id: number; readonly state: ProxyRefundState }>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
    clockCorrection: RetryClockCorrection,
  ) {
    // A check that is scheduled too far ahead is moved to `LONGEST_PAUSE` from now. An immediate check
    // might follow too soon after the previous one, and two failures close together prove nothing.
    clockCorrection.add({
      table: 'proxy_refunds',
      column: 'next_check_at',
      where: `state = 'checking'`,
      longestPause: LONGEST_PAUSE,
      pause: LONGEST_PAUSE,
    });
    this.awaited = new RowWaiters(notifier, 'refunds', (waits) =>
      queryRows(dataSource, 'SELECT id, state FROM proxy_refunds WHERE id = ANY ($1)', [[...waits.keys()]]),
    );
  }

  async find(proxyId: number): Promise<ProxyRefundRow | null> {
    const [row] = await queryRows<ProxyRefundRow>(
      this.dataSource,
      `SELECT id, state, reason, cardinality(failures) AS failed_checks, requested_at, closed_at,
              coalesce(amount, refund_amount(proxy_id, requested_at, last_order_id)) AS amount,
              state <> 'refused' OR closed_at > now() - interval '1 hour' AS stands
         FROM proxy_refunds WHERE proxy_id = $1 ORDER BY id DESC LIMIT 1`,
      [proxyId],
    );
    return row ?? null;
  }

  /**
   * If the most recent request was refused as `prolonged`, `is_in_period` is evaluated at the time of the
   * first request in this unbroken run of `prolonged` refusals, otherwise at the current time.
   */
  facts({ id, userId }: Proxy): Promise<ProxyRefundFacts> {
    return queryRow(
      this.dataSource,
      `SELECT created_at + hours * interval '1 hour' > coalesce((
                SELECT min(requested_at) FROM proxy_refunds refund
                 WHERE proxy_id = proxies.id AND reason = 'prolonged'
                   AND NOT EXISTS (SELECT FROM proxy_refunds later
                                    WHERE later.proxy_id = proxies.id AND later.id > refund.id
                                      AND later.reason <> 'prolonged')), now()) AS is_in_period,
              amount, is_within_refund_quota($1, amount, '{checking,staff,refunded}') AS is_within_quota,
              is_changing(proxies.id) AS waits
         FROM proxies, refund_rule, refund_amount(proxies.id, now(), NULL) AS amount WHERE proxies.id = $2`,
      [userId, id],
    );
  }

  /** @returns null if a refund was started, or if an earlier one was not refused */
  begin({ id, userId }: Proxy): Promise<'open' | 'refund-quota-used' | null> {
    return inQueueOf(userId, async () => {
      const { refusal } = await queryRow<{ refusal: 'open' | 'refund-quota-used' | null }>(
        this.dataSource,
        'SELECT begin_refund($1, $2, $3) AS refusal',
        [userId, id, MINUTES_AFTER_DELIVERY],
      );
      return refusal;
    });
  }

  findDue(limit: number): Promise<DueProxyRefund[]> {
    return queryRows(
      this.dataSource,
      `SELECT refund.id, proxy_id AS "proxyId", refund.user_id AS "userId", requested_at AS "requestedAt",
              cardinality(failures) AS failures, host, port, login, password, proxy_type AS "proxyType",
              version, provider_proxy_id AS "providerProxyId",
              withdrawn_at IS NOT NULL AS "isWithdrawn",
              date_end <= now() OR requested_at < now() - interval '1 day' AS "isLate",
              end_confirmed_at(proxy_id) IS NOT NULL
              AND NOT EXISTS (SELECT FROM orders WHERE orders.proxy_id = proxies.id AND closed_at IS NULL)
              AND NOT EXISTS (SELECT FROM proxy_type_changes change
                               WHERE change.proxy_id = proxies.id AND settled_at IS NULL
                                 AND attempt_until > end_confirmed_at(change.proxy_id)) AS "isConfirmed"
         FROM proxy_refunds refund JOIN proxies ON proxies.id = proxy_id
        WHERE state = 'checking' AND next_check_at <= now() ORDER BY next_check_at, refund.id LIMIT $1`,
      [limit],
    );
  }

  /** Finds proxies to compare with. Prefers different customers, because one customer's may all be dead. */
  findControls({ version, userId, host }: DueProxyRefund, count: number): Promise<ProxyToCheck[]> {
    return queryRows(
      this.dataSource,
      `SELECT host, port, login, password, "proxyType"
         FROM (SELECT host, port, login, password, proxy_type AS "proxyType",
                      row_number() OVER (PARTITION BY user_id ORDER BY random()) AS place
                 FROM proxies
                WHERE active AND date_end > now() AND absences = 0
                  AND version = $1 AND user_id <> $2 AND host <> $3
                  AND NOT EXISTS (SELECT FROM proxy_refunds
                                   WHERE proxy_id = proxies.id AND state IN ('checking', 'staff'))) AS others
        ORDER BY place, random() LIMIT $4`,
      [version, userId, host, count],
    );
  }

  async recordFailure(id: number, failure: ProxyCheckReason, seconds: number): Promise<void> {
    await this.change(
      id,
      `failures = failures || $2::text, failed_at = failed_at || now(),
       next_check_at = now() + make_interval(secs => $3)`,
      [failure, seconds],
    );
  }

  async postpone(id: number, seconds: number): Promise<void> {
    await this.change(id, 'next_check_at = now() + make_interval(secs => $2)', [seconds]);
  }

  async refuse(id: number, code: ProxyRefundRefusal): Promise<void> {
    await this.change(id, `state = 'refused', reason = $2, next_check_at = NULL, closed_at = now()`, [code]);
  }

  async leaveToStaff(id: number, reason: string): Promise<void> {
    await this.change(id, `state = 'staff', reason = $2, next_check_at = NULL`, [reason]);
  }

  /**
   * Locks the refund rule, so that concurrent refunds cannot together exceed its limits.
   * @returns what prevented the refund
   */
  async refundByRule(id: number): Promise<ProxyRefundObstacle | null> {
    const obstacle = await inTransaction(this.dataSource, async (manager) => {
      await queryRows(manager, 'SELECT FROM refund_rule FOR UPDATE');
      if (!(await this.lock(id, 'checking', manager))) return 'open';
      return (await this.limitOf(id, manager)) ?? this.refund(id, true, manager);
    });
    if (obstacle === null) void this.awaited.changed([id]);
    return obstacle;
  }

  /** Returns which of the rule's limits the refund would exceed; null if it would exceed none. */
  private async limitOf(id: number, manager: EntityManager): Promise<ProxyRefundObstacle | null> {
    const { limit } = await queryRow<{ limit: ProxyRefundObstacle | null }>(
      manager,
      `SELECT CASE WHEN NOT enabled THEN 'rule-disabled'
                   WHEN NOT is_within_refund_quota(user_id, more, '{refunded}') THEN 'refund-quota-used'
                   WHEN more + coalesce((
                     SELECT sum(amount) FROM proxy_refunds
                      WHERE state = 'refunded' AND action_id IS NULL
                        AND closed_at >= date_trunc('day', now(), 'UTC')), 0) > daily_sum
                   THEN 'daily-sum' END AS limit
         FROM refund_rule, proxy_refunds refund, refund_amount(proxy_id, requested_at, last_order_id) AS more
        WHERE refund.id = $1`,
      [id],
    );
    return limit;
  }

  /** @returns whether the refund is in `state` */
  async lock(id: number, state: ProxyRefundState, manager: EntityManager): Promise<boolean> {
    const locked = await queryRows(
      manager,
      'SELECT FROM proxy_refunds WHERE id = $1 AND state = $2 FOR UPDATE',
      [id, state],
    );
    return locked.length > 0;
  }

  /** @param queryable transaction that has locked the refund @returns what prevented the refund */
  async refund(id: number, byRule: boolean, queryable: Queryable): Promise<ProxyRefundObstacle | null> {
    const { obstacle, amount } = await queryRow<{
      obstacle: ProxyRefundObstacle | null;
      amount: string | null;
    }>(
      queryable,
      `SELECT done.* FROM proxy_refunds refund,
              LATERAL refund_proxy(refund, $2) AS done
        WHERE refund.id = $1`,
      [id, byRule],
    );
    if (obstacle === null) {
      await queryRows(
        queryable,
        `UPDATE proxy_refunds
            SET state = 'refunded', reason = NULL, amount = $2, next_check_at = NULL, closed_at = now(),
                next_deletion_at = now()
          WHERE id = $1`,
        [id, amount],
      );
    }
    return obstacle;
  }

  private async change(id: number, changes: string, parameters: readonly unknown[]): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE proxy_refunds SET ${changes} WHERE id = $1 AND state = 'checking'`,
      [id, ...parameters],
    );
    await this.awaited.changed([id]);
  }
}
