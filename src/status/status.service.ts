import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { findExcessiveRights, queryRows, sqlList } from '../database';
import { RecoveryService } from '../inventory';
import { OPEN_STATES, type OpenState } from '../orders';
import { ProxyProvider } from '../provider';
import { RENEWAL_WAITS } from '../renewals';
import { FRESH_SECONDS, type StoredReport } from './replica-reports';
import type { AuditRunOut, ReplicaOut, StatusOut } from './status.dto';

/** Reads the state of all replicas from the database. */
@Injectable()
export class StatusService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly recovery: RecoveryService,
  ) {}

  async read(): Promise<StatusOut> {
    const orders = await this.openOrders();
    const [orphans] = await this.query<{ count: number }>(
      'SELECT count(*) AS count FROM orphans WHERE resolution IS NULL',
    );
    return {
      ...(await this.account()),
      orders_waiting: orders.get('reserved')?.count ?? 0,
      oldest_waiting_at: orders.get('reserved')?.oldest ?? null,
      orders_submitting: orders.get('submitting')?.count ?? 0,
      orders_confirming: orders.get('confirming')?.count ?? 0,
      orders_in_review: orders.get('review')?.count ?? 0,
      oldest_in_review_at: orders.get('review')?.oldest ?? null,
      open_orphans: orphans?.count ?? 0,
      ...(await this.renewals()),
      recovery: await this.recovery.show(),
      catalogue: await this.query(
        `SELECT split_part(key, '/', 1) AS kind, count(fetched_at) AS copies,
                min(fetched_at) AS oldest_fetched_at, max(fetched_at) AS newest_fetched_at
           FROM catalogue_copies GROUP BY kind ORDER BY kind`,
      ),
      jobs: await this.query(
        `SELECT name,
                CASE WHEN finished_at IS NOT NULL THEN 'done'
                     WHEN leased_until > now() THEN 'running' ELSE 'broken-off' END AS state,
                started_at, finished_at, holder, report
           FROM job_runs ORDER BY name`,
      ),
      audits: await this.lastAudits(),
      replicas: await this.freshReplicas(),
      excessive_database_rights: await findExcessiveRights(this.dataSource),
    };
  }

  private async account(): Promise<
    Pick<StatusOut, 'at' | 'provider_balance' | 'spent_24_hours' | 'runway_hours'>
  > {
    const [row] = await this.query<{
      at: Date;
      amount: string | null;
      seen_at: Date;
      is_low: boolean;
      spent: string;
      runway: number | null;
    }>(
      `SELECT now() AS at, round(balance, 2) AS amount, seen_at, is_low, round(spent, 2) AS spent,
              round(24 * greatest(balance, 0) / nullif(spent, 0), 1)::float8 AS runway
         FROM (SELECT coalesce(sum(provider_charge), 0) AS spent
                 FROM orders
                WHERE captured > 0 AND closed_at > now() - interval '24 hours' AND provider = $1) AS recent
         LEFT JOIN provider_accounts ON provider_accounts.provider = $1`,
      [this.provider.name],
    );
    if (!row) throw new Error('the database returned no row for the account at the provider');
    const { at, amount, seen_at, is_low, spent, runway } = row;
    return {
      at,
      provider_balance: amount === null ? null : { amount, seen_at, is_low },
      spent_24_hours: spent,
      runway_hours: runway,
    };
  }

  /** One run of each scope, found by the index, however many are kept. */
  private lastAudits(): Promise<AuditRunOut[]> {
    return this.query(
      `SELECT scope, started_at, finished_at, ok,
              (SELECT coalesce(json_agg(broken.value - 'rows'), '[]')
                 FROM jsonb_array_elements(run.violations) AS broken) AS violations
         FROM (VALUES ('day'), ('all')) AS scopes (name),
              LATERAL (SELECT * FROM audit_runs WHERE scope = name ORDER BY id DESC LIMIT 1) AS run`,
    );
  }

  private async freshReplicas(): Promise<ReplicaOut[]> {
    const replicas = await this.query<{ holder: string; reported_at: Date; report: StoredReport }>(
      `SELECT holder, reported_at, report FROM replica_reports
        WHERE reported_at > now() - make_interval(secs => $1) ORDER BY report->>'started_at', holder`,
      [FRESH_SECONDS],
    );
    return replicas.map(({ report, ...replica }) => ({
      ...replica,
      ...report,
      unknown_migrations: report.unknown_migrations ?? [],
    }));
  }

  private async renewals(): Promise<
    Pick<
      StatusOut,
      | 'renewals_due'
      | 'oldest_renewal_due_at'
      | 'renewals_failed'
      | 'renewals_paused_at'
      | 'users_with_paused_renewals'
    >
  > {
    const [row] = await this.query<Awaited<ReturnType<StatusService['renewals']>>>(
      `SELECT due.count AS renewals_due, due.oldest AS oldest_renewal_due_at,
              (SELECT count(*) FROM renewals WHERE state = 'failed' AND due_at > now() - interval '24 hours')
                AS renewals_failed,
              renewals_paused_at,
              (SELECT count(*) FROM renewal_settings WHERE paused_at IS NOT NULL)
                AS users_with_paused_renewals
         FROM installation,
              (SELECT count(*), min(due_at) AS oldest FROM renewals WHERE ${RENEWAL_WAITS}) AS due`,
    );
    if (!row) throw new Error('the database returned no row for the renewals');
    return row;
  }

  /** The states are written into the statement, so that PostgreSQL can use the partial index on them. */
  private async openOrders(): Promise<Map<OpenState, { count: number; oldest: Date }>> {
    const states = await this.query<{ state: OpenState; count: number; oldest: Date }>(
      `SELECT state, count(*) AS count, min(created_at) AS oldest
         FROM orders WHERE state IN ${sqlList(OPEN_STATES)} GROUP BY state`,
    );
    return new Map(states.map(({ state, ...orders }) => [state, orders]));
  }

  private query<Row>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return queryRows<Row>(this.dataSource, statement, parameters);
  }
}
