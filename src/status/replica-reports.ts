import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { REPLICA_ID } from '../common';
import { queryRow, UNKNOWN_MIGRATIONS } from '../database';
import { OrderWaiters } from '../orders';
import { ProxyProvider } from '../provider';
import type { ReplicaOut } from './status.dto';

export const REPORT_INTERVAL_MS = 5000;
/** Replicas whose last report is older are not shown. */
export const FRESH_SECONDS = 20;

export type ReplicaReport = Omit<ReplicaOut, 'holder' | 'reported_at'>;

@Injectable()
export class ReplicaReports {
  private readonly logger = new Logger(ReplicaReports.name);
  private knowsOfLaterVersion = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly orders: OrderWaiters,
  ) {}

  async write(): Promise<void> {
    const { breakers, waitingCalls } = this.provider.status();
    const report: Omit<ReplicaReport, 'unknown_migrations'> = {
      pid: process.pid,
      started_at: new Date(performance.timeOrigin).toISOString(),
      breakers: breakers.map((breaker) => ({ ...breaker, since: breaker.since.toISOString() })),
      waiting_calls: waitingCalls,
      waiting_orders: this.orders.countQueued(),
    };
    const { unknown } = await queryRow<{ unknown: readonly string[] }>(
      this.dataSource,
      `WITH gone AS (
         DELETE FROM replica_reports WHERE reported_at < now() - interval '1 hour' AND holder <> $1
       )
       INSERT INTO replica_reports (holder, reported_at, report)
       VALUES ($1, now(), $2::jsonb || jsonb_build_object('unknown_migrations', ${UNKNOWN_MIGRATIONS}))
       ON CONFLICT (holder) DO UPDATE SET reported_at = excluded.reported_at, report = excluded.report
       RETURNING report->'unknown_migrations' AS unknown`,
      [REPLICA_ID, report],
    );
    if (unknown.length > 0 && !this.knowsOfLaterVersion) {
      const names = unknown.join(', ');
      this.logger.warn(`a later version has migrated the database (${names}): this replica keeps running`);
    }
    this.knowsOfLaterVersion = unknown.length > 0;
  }
}
