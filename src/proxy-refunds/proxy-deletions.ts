import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { queryRows } from '../database';
import { Jobs, type LeasedRun, RetryClockCorrection } from '../jobs';
import { ProviderError, ProviderRefused, ProxyProvider } from '../provider';

const EVERY_SECONDS = 15;
/** Safety cap on deletions per 24 hours. */
const MOST_IN_A_DAY = 200;
const CLAIMED_AT_ONCE = 20;

const IS_LEFT_SQL = `state = 'refunded' AND deleted_at IS NULL`;

/**
 * Deletes refunded proxies at the provider. Otherwise, a customer could use a refunded proxy that works
 * again. No other class may call `deleteProxy`.
 */
@Injectable()
export class ProxyDeletions {
  private readonly logger = new Logger('Refunds');

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    jobs: Jobs,
    clockCorrection: RetryClockCorrection,
  ) {
    clockCorrection.add({
      table: 'proxy_refunds',
      column: 'next_deletion_at',
      where: IS_LEFT_SQL,
      longestPause: `interval '10 minutes'`,
    });
    jobs.run({
      name: 'proxy-deletions',
      everySeconds: EVERY_SECONDS,
      waiting: `SELECT count(*)::integer AS count, min(next_deletion_at) AS oldest FROM proxy_refunds
                 WHERE ${IS_LEFT_SQL} AND next_deletion_at <= now()`,
      hasWork: () => `EXISTS (SELECT FROM proxy_refunds WHERE ${IS_LEFT_SQL})`,
      execute: (run) => this.deleteDue(run),
    });
  }

  private async deleteDue(run: LeasedRun): Promise<Record<string, number>> {
    const report = { gone: await this.recordUnlisted(), calls: 0 };
    for (;;) {
      await run.renew(report);
      const claimed = await this.claim();
      for (const { id, providerProxyId } of claimed) {
        await run.renew(report);
        report.calls += 1;
        if (!(await this.isGone(providerProxyId))) continue;
        await queryRows(this.dataSource, 'UPDATE proxy_refunds SET deleted_at = now() WHERE id = $1', [id]);
        report.gone += 1;
      }
      if (claimed.length < CLAIMED_AT_ONCE) return report;
    }
  }

  /** Records proxies as deleted if they are missing from two complete listings. */
  private async recordUnlisted(): Promise<number> {
    const gone = await queryRows(
      this.dataSource,
      `UPDATE proxy_refunds SET deleted_at = now()
         FROM proxies
        WHERE ${IS_LEFT_SQL}
          AND proxies.id = proxy_id AND refunded_at IS NOT NULL AND absences >= 2
       RETURNING proxy_refunds.id`,
    );
    return gone.length;
  }

  /** Claims only refunded proxies. Each proxy is claimed again until the provider no longer finds it. */
  private claim(): Promise<{ readonly id: number; readonly providerProxyId: string }[]> {
    return queryRows(
      this.dataSource,
      `WITH due AS MATERIALIZED (
         SELECT refund.id, provider_proxy_id, row_number() OVER (
                  PARTITION BY deletion_began_at IS NULL ORDER BY next_deletion_at, refund.id) AS place,
                deletion_began_at IS NULL AS is_new
           FROM proxy_refunds refund JOIN proxies ON proxies.id = proxy_id
          WHERE ${IS_LEFT_SQL} AND next_deletion_at <= now()
            AND refunded_at IS NOT NULL AND provider = $1
          ORDER BY deletion_began_at IS NULL, next_deletion_at, refund.id LIMIT $2
       ),
       spent AS (
         SELECT count(*) AS count FROM proxy_refunds WHERE deletion_began_at > now() - interval '1 day'
       )
       UPDATE proxy_refunds refund
          SET deletion_began_at = coalesce(deletion_began_at, now()),
              next_deletion_at = now() + interval '1 minute' * CASE WHEN is_new THEN 1 ELSE 10 END
         FROM due, spent
        WHERE refund.id = due.id AND (NOT is_new OR spent.count + place <= $3)
       RETURNING refund.id, provider_proxy_id AS "providerProxyId"`,
      [this.provider.name, CLAIMED_AT_ONCE, MOST_IN_A_DAY],
    );
  }

  private async isGone(providerProxyId: string): Promise<boolean> {
    try {
      await this.provider.deleteProxy(providerProxyId);
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'not-found') return true;
      if (!(error instanceof ProviderError)) throw error;
      this.logger.warn(`could not delete a refunded proxy, and will retry: ${messageOf(error)}`);
    }
    return false;
  }
}
