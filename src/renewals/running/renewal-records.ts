import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { RenewalOffer } from '../../catalog';
import type { ProxyType } from '../../common';
import { queryRow, queryRows } from '../../database';
import { type Page, type PageRequest, readPage } from '../../http';
import { type RetentionStep, RetryClockCorrection, STEP_ROWS } from '../../jobs';
import { PURCHASE_REFERENCE_SQL } from '../../orders';
import {
  renewalDueAtSql,
  LAST_TRY_BEFORE_END_SQL,
  MAX_HOURS_AHEAD,
  type RenewalObstacle,
} from '../renewal-decision';
import type { RenewalOut } from '../renewal.dto';
import { ruleOfProxySql } from '../rule-of-proxy';

/** All fields are read at the same moment. Amounts are in roubles. */
export interface DueRenewal extends RenewalOffer {
  readonly id: number;
  readonly proxyId: number;
  readonly dateEnd: Date;
  readonly proxyType: ProxyType;
  /** Obstacles that do not depend on the price; see `renewal_obstacles.sql`. */
  readonly obstacles: readonly (RenewalObstacle | 'superfluous' | 'rule-disabled')[];
  /** Whether the last sweep confirmed the expiry; see `end_confirmed_at.sql`. */
  readonly isConfirmed: boolean;
  /** Reference of the order that bought the proxy. */
  readonly purchaseReference: string;
  /** Null if no rule applies any more, or if the rule that applies now makes the renewal due later. */
  readonly ruleId: number | null;
  readonly maxPrice: string | null;
  readonly available: string;
  readonly budgetLeft: string | null;
}

export interface SkippedRenewal {
  readonly id: number;
  readonly reason: RenewalObstacle;
  readonly price: string | null;
}

/** Last rental of a page. */
export interface Cursor {
  readonly dateEnd: string;
  readonly id: number;
}

const PLANNED_AT_ONCE = 2000;
const CHANGED_AT_ONCE = 1000;

export const IS_OPEN_SQL = `renewal.state IN ('planned', 'skipped')`;
export const IS_IN_TIME_SQL = `now() < renewal.date_end_before - ${LAST_TRY_BEFORE_END_SQL}`;

/** SQL condition for whether the job has work other than planning and reminding. */
export const IS_WORK_LEFT_SQL = `
  EXISTS (SELECT FROM renewals WHERE state IN ('placed', 'skipped'))
  OR EXISTS (SELECT FROM renewals renewal WHERE ${IS_OPEN_SQL} AND next_try_at <= now())`;

/** Locks renewals in order of their ids. To avoid deadlocks, all statements must do so. */
const lockedSql = (condition: string): string =>
  `id = ANY (ARRAY(SELECT id FROM renewals renewal WHERE ${condition} ORDER BY id FOR UPDATE))`;

/**
 * @param row table or alias with the columns of `renewals`
 * @param more SQL for additional names and values
 */
export const eventDataSql = (row: string, more: string): string =>
  `jsonb_build_object('proxy_id', ${row}.proxy_id::text, 'date_end', iso_text(${row}.date_end_before),
                      'period', ${row}.period, 'price', ${row}.price::text, ${more})`;

/** Rounds retry times, so that renewals waiting for money are retried together, in order of expiry. */
const nextTry = (tries: string): string => `
  (SELECT date_bin(pause, now(), 'epoch') + pause
     FROM (SELECT CASE WHEN ${tries} <= 3 THEN interval '10 seconds'
                       WHEN ${tries} <= 6 THEN interval '1 minute'
                       WHEN ${tries} <= 9 THEN interval '5 minutes'
                       ELSE interval '10 minutes' END AS pause) AS growing)`;

/** Each statement checks the renewal's state, so a replica that lost the job's lease repeats no change. */
@Injectable()
export class RenewalRecords {
  constructor(
    private readonly dataSource: DataSource,
    clockCorrection: RetryClockCorrection,
  ) {
    clockCorrection.add({
      table: 'renewals',
      column: 'next_try_at',
      // Retry only due renewals: one that was skipped while the clock was ahead may not be due yet.
      where: `state = 'skipped' AND due_at <= now()`,
      longestPause: `interval '10 minutes'`,
    });
  }

  list(userId: number, page: PageRequest): Promise<Page<RenewalOut>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<RenewalOut>(
        this.dataSource,
        `SELECT id, proxy_id::text AS proxy_id, rule_id, date_end_before AS date_end, state, reason, period,
                price, order_id, due_at, next_try_at, charged_at
           FROM renewals WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
        [userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      ),
    );
  }

  /** Plans renewals of rentals that expire within a week, and updates those whose rule was replaced. */
  async plan(after: Cursor | null): Promise<{ done: number; next: Cursor | null }> {
    const [page] = await queryRows<{ done: number; looked: number; dateEnd: string; id: number }>(
      this.dataSource,
      `WITH page AS MATERIALIZED (
         SELECT id, user_id, country, label, tags, date_end FROM proxies
          WHERE active AND withdrawn_at IS NULL AND date_end > now() + ${LAST_TRY_BEFORE_END_SQL}
            AND date_end <= now() + interval '${MAX_HOURS_AHEAD} hours'
            AND (date_end, id) > ($1::timestamptz, $2::bigint)
            AND user_id IN (SELECT user_id FROM renewal_rules WHERE disabled_at IS NULL)
          ORDER BY date_end, id LIMIT ${PLANNED_AT_ONCE}
       ),
       planned AS (
         INSERT INTO renewals AS renewal
           (proxy_id, date_end_before, user_id, rule_id, period, due_at, next_try_at)
         SELECT page.id, page.date_end, page.user_id, rule.id, rule.period, times.due_at, times.due_at
           FROM page JOIN LATERAL (${ruleOfProxySql('page')}) AS rule ON true
           LEFT JOIN renewals known ON (known.proxy_id, known.date_end_before) = (page.id, page.date_end),
                LATERAL (SELECT ${renewalDueAtSql('date_end', 'hours_before')} AS due_at) AS times
          WHERE known.id IS NULL OR (known.state = 'planned' AND known.rule_id <> rule.id)
          ORDER BY known.id, page.date_end, page.id
         ON CONFLICT (proxy_id, date_end_before) DO UPDATE
            SET rule_id = excluded.rule_id, period = excluded.period, due_at = excluded.due_at,
                next_try_at = excluded.next_try_at
          WHERE renewal.state = 'planned'
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM planned) AS done, (SELECT count(*) FROM page) AS looked,
              date_end::text AS "dateEnd", id
         FROM page ORDER BY page.date_end DESC, id DESC LIMIT 1`,
      [after?.dateEnd ?? '-infinity', after?.id ?? 0],
    );
    if (!page) return { done: 0, next: null };
    const { done, looked, ...cursor } = page;
    return { done, next: looked === PLANNED_AT_ONCE ? cursor : null };
  }

  async removeSuperfluous(): Promise<number> {
    const removed = await queryRows(
      this.dataSource,
      `DELETE FROM renewals WHERE ${lockedSql(`
         ${IS_OPEN_SQL}
         AND (EXISTS (SELECT FROM proxies
                       WHERE proxies.id = renewal.proxy_id
                         AND (proxies.date_end IS DISTINCT FROM renewal.date_end_before
                              OR refunded_at IS NOT NULL))
              OR EXISTS (SELECT FROM renewal_rules rule
                          WHERE rule.id = renewal.rule_id AND rule.disabled_at IS NOT NULL)
              OR EXISTS (SELECT FROM renewal_rules exclusion
                          WHERE exclusion.proxy_id = renewal.proxy_id AND exclusion.disabled_at IS NULL
                            AND exclusion.period IS NULL))`)}
       RETURNING 1`,
    );
    return removed.length;
  }

  /** Keeps renewals that have an order. */
  async remove(ids: readonly number[]): Promise<number> {
    if (ids.length === 0) return 0;
    const removed = await queryRows(
      this.dataSource,
      `DELETE FROM renewals WHERE ${lockedSql(`id = ANY ($1) AND ${IS_OPEN_SQL}`)} RETURNING 1`,
      [ids],
    );
    return removed.length;
  }

  /** Finds due renewals whose customers were reminded, ordered by due time and expiry. */
  findDue(limit: number): Promise<DueRenewal[]> {
    return queryRows(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT * FROM renewals renewal
          WHERE next_try_at <= now() AND ${IS_OPEN_SQL} AND ${IS_IN_TIME_SQL}
            AND last_reminded_days IS NOT NULL
          ORDER BY next_try_at, date_end_before, proxy_id LIMIT $1
       ),
       funds AS MATERIALIZED (
         SELECT user_id, available,
                monthly_budget - renewals_spent(user_id, date_trunc('month', now(), 'UTC')) AS "budgetLeft"
           FROM accounts LEFT JOIN renewal_settings settings USING (user_id)
          WHERE user_id IN (SELECT user_id FROM due)
       )
       SELECT due.id, due.user_id AS "userId", due.proxy_id AS "proxyId", due.date_end_before AS "dateEnd",
              proxies.country, proxies.version, proxies.proxy_type AS "proxyType",
              renewal_obstacles(due.id, NULL, NULL, NULL, NULL) AS obstacles,
              end_confirmed_at(due.proxy_id) IS NOT NULL AS "isConfirmed",
              ${PURCHASE_REFERENCE_SQL} AS "purchaseReference",
              rule.id AS "ruleId", coalesce(rule.period, due.period) AS period, rule.max_price AS "maxPrice",
              available, "budgetLeft"
         FROM due JOIN funds USING (user_id)
         JOIN proxies ON proxies.id = due.proxy_id
         LEFT JOIN LATERAL (${ruleOfProxySql()}) AS rule
           ON ${renewalDueAtSql('due.date_end_before', 'rule.hours_before')} <= now()
        ORDER BY due.next_try_at, due.date_end_before, due.proxy_id`,
      [limit],
    );
  }

  /** Sends an event only if the reason is new. */
  async skip(skipped: readonly SkippedRenewal[]): Promise<void> {
    if (skipped.length === 0) return;
    await queryRows(
      this.dataSource,
      `WITH given AS (
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[]) AS given (id, reason, price)
       ),
       before AS MATERIALIZED (
         SELECT id, reason, tries FROM renewals renewal
          WHERE id = ANY ($1) AND ${IS_OPEN_SQL} ORDER BY id FOR UPDATE
       ),
       skipped AS (
         UPDATE renewals renewal
            SET state = 'skipped', reason = given.reason, price = coalesce(given.price, renewal.price),
                tries = times.tries, next_try_at = ${nextTry('times.tries')}
           FROM before JOIN given USING (id),
                LATERAL (SELECT CASE WHEN given.reason = before.reason THEN least(before.tries + 1, 100)
                                     ELSE 1 END AS tries) AS times
          WHERE renewal.id = before.id
         RETURNING renewal.*, before.reason AS reason_before
       )
       SELECT log_event(user_id, 'renewal.skipped', ${eventDataSql('skipped', `'reason', reason`)})
         FROM skipped WHERE reason IS DISTINCT FROM reason_before
        ORDER BY date_end_before, proxy_id`,
      [skipped.map(({ id }) => id), skipped.map(({ reason }) => reason), skipped.map(({ price }) => price)],
    );
  }

  async putOff(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await queryRows(
      this.dataSource,
      `UPDATE renewals SET next_try_at = now() + interval '1 second'
        WHERE ${lockedSql(`id = ANY ($1) AND ${IS_OPEN_SQL}`)}`,
      [ids],
    );
  }

  /**
   * Immediately retries renewals that the balance may now cover, and those whose proxy's refund has ended.
   */
  async retryUnblocked(): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE renewals SET next_try_at = now() WHERE ${lockedSql(`
         state = 'skipped' AND next_try_at > now()
         AND (reason = 'balance-short'
              AND user_id IN (SELECT waiting.user_id FROM renewals waiting JOIN accounts USING (user_id)
                               WHERE waiting.state = 'skipped' AND waiting.reason = 'balance-short'
                                 AND waiting.next_try_at > now() AND available >= waiting.price)
              OR reason = 'refund-open'
              AND NOT EXISTS (SELECT FROM proxy_refunds refund
                               WHERE refund.proxy_id = renewal.proxy_id
                                 AND refund.state IN ('checking', 'staff')))`)}`,
    );
  }

  /** Gives up on renewals that are still pending an hour before expiry. */
  async fail(): Promise<number> {
    const failed = await queryRows(
      this.dataSource,
      `WITH late AS (
         SELECT id FROM renewals renewal
          WHERE ${IS_OPEN_SQL} AND next_try_at IS NOT NULL AND NOT ${IS_IN_TIME_SQL}
          ORDER BY id LIMIT ${CHANGED_AT_ONCE} FOR UPDATE
       ),
       failed AS (
         UPDATE renewals renewal
            SET state = 'failed', reason = coalesce(reason, 'too-late'), next_try_at = NULL, closed_at = now()
           FROM late WHERE renewal.id = late.id
         RETURNING renewal.*
       )
       SELECT log_event(user_id, 'renewal.failed', ${eventDataSql('failed', `'reason', reason`)})
         FROM failed ORDER BY date_end_before, proxy_id`,
    );
    return failed.length;
  }

  /** Marks renewals with completed orders as done, and retries those with canceled orders. */
  async recordOutcomes(): Promise<number> {
    const { count } = await queryRow<{ count: number }>(
      this.dataSource,
      `WITH closed AS MATERIALIZED (
         SELECT renewal.id, reason AS reason_before, tries AS tries_before, orders.state AS outcome,
                captured, orders.created_at AS ordered_at,
                CASE public_failure(orders.kind, failure)
                  WHEN 'period-not-sold' THEN 'period-not-sold'
                  WHEN 'cannot-be-prolonged' THEN 'proxy-withdrawn'
                  ELSE 'provider-unavailable' END AS obstacle
           FROM renewals renewal JOIN orders ON orders.id = renewal.order_id
          WHERE renewal.state = 'placed' AND orders.closed_at IS NOT NULL
          ORDER BY renewal.id LIMIT ${CHANGED_AT_ONCE} FOR UPDATE OF renewal
       ),
       recorded AS (
         UPDATE renewals renewal
            SET state = CASE outcome WHEN 'completed' THEN 'done' ELSE 'skipped' END,
                price = CASE outcome WHEN 'completed' THEN captured ELSE price END,
                charged_at = CASE outcome WHEN 'completed' THEN ordered_at END,
                closed_at = CASE outcome WHEN 'completed' THEN now() END,
                reason = CASE outcome WHEN 'completed' THEN NULL ELSE obstacle END,
                tries = times.tries,
                next_try_at = CASE outcome WHEN 'completed' THEN NULL ELSE ${nextTry('times.tries')} END
           FROM closed,
                LATERAL (SELECT CASE WHEN obstacle = reason_before THEN least(tries_before + 1, 100)
                                     ELSE 1 END AS tries) AS times
          WHERE renewal.id = closed.id
         RETURNING renewal.*, reason_before
       ),
       logged AS (
         SELECT log_event(user_id, CASE state WHEN 'done' THEN 'renewal.done' ELSE 'renewal.skipped' END,
                  CASE state WHEN 'done' THEN ${eventDataSql('recorded', `'order_id', order_id`)}
                             ELSE ${eventDataSql('recorded', `'reason', reason`)} END)
           FROM recorded WHERE state = 'done' OR reason IS DISTINCT FROM reason_before
          ORDER BY date_end_before, proxy_id
       )
       -- Reads "logged", because PostgreSQL executes a CTE's SELECT only if the outer query reads it.
       SELECT count(*), (SELECT count(*) FROM logged) AS logged FROM recorded`,
    );
    return count;
  }

  /** Goes through all rules by id, so that each step reads about the same number of rows. */
  forgetRules(days: number, after: number): Promise<RetentionStep<number>> {
    return queryRow<RetentionStep<number>>(
      this.dataSource,
      `WITH walked AS (
         SELECT id, disabled_at FROM renewal_rules WHERE id > $2 ORDER BY id LIMIT $3
       ), removed AS (
         DELETE FROM renewal_rules rule
          WHERE id = ANY (ARRAY(SELECT id FROM walked
                                 WHERE disabled_at < now() - make_interval(days => $1)))
            AND NOT EXISTS (SELECT FROM renewals WHERE rule_id = rule.id)
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM walked) AS next`,
      [days, after, STEP_ROWS],
    );
  }
}
