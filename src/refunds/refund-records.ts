import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AwaitedRows, inTransaction, Notifier, type Queryable, queryRow, queryRows } from '../database';
import type { Proxy, ProxyCheckReason, ProxyToCheck } from '../proxies';
import type { RefundRefusal, RefundState } from './dto/refund.dto';

export interface RefundRow {
  readonly id: number;
  readonly state: RefundState;
  readonly reason: string | null;
  readonly amount: string;
  readonly failed_checks: number;
  readonly requested_at: Date;
  readonly closed_at: Date | null;
  /** A refusal of the last hour stays; after that, a request begins anew. */
  readonly stands: boolean;
}

/** The facts on which a refund of a proxy depends, in addition to the rule. */
export interface RefundFacts {
  readonly is_in_period: boolean;
  readonly amount: string;
  readonly is_within_quota: boolean;
  /** An order or a change of type is open. */
  readonly waits: boolean;
}

/** A refund to look at, with its proxy. */
export interface DueRefund extends ProxyToCheck {
  readonly id: number;
  readonly proxyId: number;
  readonly userId: number;
  readonly requestedAt: Date;
  readonly version: string;
  readonly providerProxyId: string;
  readonly failures: number;
  readonly isWithdrawn: boolean;
  /** No checks have decided it in a day, or the rental has ended. */
  readonly isLate: boolean;
  /** A listing has confirmed host, port, login and type, and nothing changes them. */
  readonly isConfirmed: boolean;
}

/** Why nothing was refunded: see `refund_proxy.sql`. */
export type RefundObstacle = 'refunded' | 'open' | 'assigned' | 'refunded-by-staff' | 'withdrawn';

/** Failures right after the delivery may be those of a proxy that is not set up yet. */
const MINUTES_AFTER_DELIVERY = 10;

/** Refunds by the rule in 30 days, with those that may still become one: `$1` is the user. */
const COUNTED = `
  SELECT FROM proxy_refunds
   WHERE user_id = $1 AND action_id IS NULL AND reason IS DISTINCT FROM 'forgotten'
     AND coalesce(closed_at, now()) > now() - interval '30 days'`;

const QUOTA = `
  SELECT greatest(quota, floor(quota_percent * coalesce((
           SELECT sum(captured / unit_price) FROM orders
            WHERE user_id = $1 AND kind = 'purchase' AND created_at > now() - interval '30 days'), 0) / 100))
    FROM refund_rule`;

const isWithinQuota = (states: string): string =>
  `(SELECT count(*) FROM (${COUNTED} AND state IN (${states})) AS counted) < (${QUOTA})`;

/** The days are counted from the moment `at`. */
const amountAt = (proxy: string, at: string): string =>
  `(SELECT coalesce(sum(amount), 0)::numeric(14,2) FROM refund_shares(${proxy}, ${at}))`;

/** Roubles refunded, or that would be refunded, for a row of `proxy_refunds`. */
export const REFUND_AMOUNT = `coalesce(amount, ${amountAt('proxy_id', 'requested_at')})`;

/** The statements of refunds, each guarded by the state that it starts from. */
@Injectable()
export class RefundRecords {
  readonly awaited: AwaitedRows<{ readonly id: number; readonly state: RefundState }>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
  ) {
    this.awaited = new AwaitedRows(notifier, 'refunds', (waits) =>
      queryRows(dataSource, 'SELECT id, state FROM proxy_refunds WHERE id = ANY ($1)', [[...waits.keys()]]),
    );
  }

  /** The last refund of a proxy. */
  async find(proxyId: number): Promise<RefundRow | null> {
    const [row] = await queryRows<RefundRow>(
      this.dataSource,
      `SELECT id, state, reason, ${REFUND_AMOUNT} AS amount, cardinality(failures) AS failed_checks,
              requested_at, closed_at,
              state <> 'refused' OR closed_at > now() - interval '1 hour' AS stands
         FROM proxy_refunds WHERE proxy_id = $1 ORDER BY id DESC LIMIT 1`,
      [proxyId],
    );
    return row ?? null;
  }

  facts({ id, userId }: Proxy): Promise<RefundFacts> {
    return queryRow(
      this.dataSource,
      `SELECT created_at + hours * interval '1 hour' > now() AS is_in_period,
              ${amountAt('proxies.id', 'now()')} AS amount,
              ${isWithinQuota(`'checking', 'staff', 'refunded'`)} AS is_within_quota,
              EXISTS (SELECT FROM orders
                       WHERE (proxy_id = proxies.id OR orders.id = proxies.order_id) AND closed_at IS NULL)
              OR EXISTS (SELECT FROM proxy_type_changes
                          WHERE proxy_id = proxies.id AND settled_at IS NULL
                            AND attempt_until > clock_timestamp()) AS waits
         FROM proxies, refund_rule WHERE proxies.id = $2`,
      [userId, id],
    );
  }

  /** Begins a refund, unless one is there that was not refused. */
  async begin({ id, userId }: Proxy): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO proxy_refunds (proxy_id, user_id, next_check_at)
       SELECT id, user_id, greatest(now(), created_at + interval '${MINUTES_AFTER_DELIVERY} minutes')
         FROM proxies WHERE id = $1 AND user_id = $2
       ON CONFLICT DO NOTHING`,
      [id, userId],
    );
  }

  findDue(limit: number): Promise<DueRefund[]> {
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

  /** Proxies of the same version, of other customers and at other hosts, to compare with. */
  findControls({ version, userId, host }: DueRefund, count: number): Promise<ProxyToCheck[]> {
    return queryRows(
      this.dataSource,
      `SELECT host, port, login, password, proxy_type AS "proxyType" FROM proxies
        WHERE active AND date_end > now() AND absences = 0 AND version = $1 AND user_id <> $2 AND host <> $3
          AND NOT EXISTS (SELECT FROM proxy_refunds
                           WHERE proxy_id = proxies.id AND state IN ('checking', 'staff'))
        ORDER BY random() LIMIT $4`,
      [version, userId, host, count],
    );
  }

  /** Whether the rule may refund it as the next one: the quota of its customer, and the sum of the day. */
  limits(refund: DueRefund): Promise<{ readonly isWithinQuota: boolean; readonly isWithinSum: boolean }> {
    return queryRow(
      this.dataSource,
      `SELECT ${isWithinQuota(`'refunded'`)} AS "isWithinQuota",
              ${amountAt('$2', '$3')} + coalesce((
                SELECT sum(amount) FROM proxy_refunds
                 WHERE state = 'refunded' AND action_id IS NULL
                   AND closed_at >= date_trunc('day', now(), 'UTC')), 0) <= daily_sum AS "isWithinSum"
         FROM refund_rule`,
      [refund.userId, refund.proxyId, refund.requestedAt],
    );
  }

  async recordFailure(
    id: number,
    failure: ProxyCheckReason,
    minutes: number,
    isLast: boolean,
  ): Promise<void> {
    await this.change(
      id,
      `failures = failures || $2::text, next_check_at = now() + make_interval(mins => $3)`,
      [failure, isLast ? 0 : minutes],
    );
  }

  async postpone(id: number, minutes: number): Promise<void> {
    await this.change(id, 'next_check_at = now() + make_interval(mins => $2)', [minutes]);
  }

  async refuse(id: number, code: RefundRefusal): Promise<void> {
    await this.change(id, `state = 'refused', reason = $2, next_check_at = NULL, closed_at = now()`, [code]);
  }

  async leaveToStaff(id: number, reason: string): Promise<void> {
    await this.change(id, `state = 'staff', reason = $2, next_check_at = NULL`, [reason]);
  }

  /** Refunds what the rule allows. @returns the obstacle because of which nothing was changed */
  async refundByRule(id: number): Promise<RefundObstacle | null> {
    const obstacle = await inTransaction(this.dataSource, async (manager) => {
      const isChecking = await this.lock(id, 'checking', manager);
      return isChecking ? this.refund(id, true, manager) : 'open';
    });
    if (obstacle === null) void this.awaited.changed([id]);
    return obstacle;
  }

  /** Locks a refund until the transaction ends. @returns whether it has the state */
  async lock(id: number, state: RefundState, manager: EntityManager): Promise<boolean> {
    const locked = await queryRows(
      manager,
      'SELECT FROM proxy_refunds WHERE id = $1 AND state = $2 FOR UPDATE',
      [id, state],
    );
    return locked.length > 0;
  }

  /** @param queryable a transaction that has locked the refund */
  async refund(id: number, byRule: boolean, queryable: Queryable): Promise<RefundObstacle | null> {
    const { obstacle, amount } = await queryRow<{ obstacle: RefundObstacle | null; amount: string | null }>(
      queryable,
      `SELECT done.* FROM proxy_refunds refund,
              LATERAL refund_proxy(refund.id, proxy_id, requested_at, $2) AS done
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
