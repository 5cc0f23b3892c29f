import { sqlList, requireRow } from '../database';
import type { BacklogSql } from '../jobs';
import { IS_RENEWAL_SQL, OPEN_STATES, type OpenState, CLOSED_FOR_MAINTENANCE } from '../orders';
import { WAITING_PAYMENTS } from '../payments';
import { FRESH_SECONDS, type ReplicaReport } from './replica-reports';
import type {
  AuditRunOut,
  CatalogStatusOut,
  JobStatusOut,
  ProviderBalanceOut,
  ReplicaOut,
} from './status.dto';

/**
 * Runs a statement. The status page uses the connection pool that serves requests. The metrics use a
 * connection of their own.
 */
export type StatementRunner = <Row extends object>(
  statement: string,
  parameters?: readonly unknown[],
) => Promise<readonly Row[]>;

interface Count {
  readonly count: number;
  readonly oldest: Date | null;
}

interface Overview {
  /** Current database time. Ages are relative to it. */
  readonly at: Date;
  readonly openUnmatchedProxies: number;
  readonly isClosed: boolean;
  readonly renewalsPausedAt: Date | null;
  readonly usersWithPausedRenewals: number;
}

/** Job that one replica runs on behalf of all. */
export interface JobFact extends JobStatusOut {
  readonly succeeded_at: Date | null;
  readonly interval_seconds: number | null;
}

export class StatusFacts {
  constructor(
    private readonly rows: StatementRunner,
    private readonly provider: string,
  ) {}

  overview(): Promise<Overview> {
    return this.row(
      `SELECT now() AS at,
              (SELECT count(*)::integer FROM unmatched_proxies
              WHERE resolution IS NULL) AS "openUnmatchedProxies", ${CLOSED_FOR_MAINTENANCE} AS "isClosed",
              (SELECT paused_at FROM renewals_pause) AS "renewalsPausedAt",
              (SELECT count(*)::integer FROM renewal_settings WHERE paused_at IS NOT NULL)
                AS "usersWithPausedRenewals"`,
    );
  }

  /** States are literals, so that PostgreSQL uses the partial index. */
  async openOrders(): Promise<ReadonlyMap<OpenState, Count>> {
    const states = await this.rows<Count & { state: OpenState }>(
      // `oldest` excludes queued renewals: no customer waits for them, and other orders may overtake them.
      `SELECT state, count(*)::integer AS count,
              min(created_at) FILTER (WHERE state <> 'reserved' OR NOT ${IS_RENEWAL_SQL}) AS oldest
         FROM orders WHERE state IN ${sqlList(OPEN_STATES)} GROUP BY state`,
    );
    return new Map(states.map(({ state, ...orders }) => [state, orders]));
  }

  /** @returns null before the provider's first response */
  async balance(): Promise<ProviderBalanceOut | null> {
    const [account] = await this.rows<ProviderBalanceOut>(
      'SELECT round(balance, 2) AS amount, seen_at, is_low FROM provider_accounts WHERE provider = $1',
      [this.provider],
    );
    return account ?? null;
  }

  /** Returns what the provider charged within a day, in roubles. The query is slow. */
  async spentInADay(): Promise<string> {
    const recent = await this.row<{ spent: string }>(
      `SELECT round(coalesce(sum(provider_charge), 0), 2) AS spent FROM orders
        WHERE captured > 0 AND closed_at > now() - interval '24 hours' AND provider = $1`,
      [this.provider],
    );
    return recent.spent;
  }

  waiting(statement: BacklogSql): Promise<Count> {
    return this.row(statement);
  }

  dueRenewals(): Promise<readonly { state: string; reason: string; count: number }[]> {
    return this.rows(
      `SELECT state, coalesce(reason, '') AS reason, count(*)::integer AS count
         FROM renewals WHERE due_at > now() - interval '24 hours' AND due_at <= now()
        GROUP BY state, reason`,
    );
  }

  /** Includes pending deposits, for which the reason is null. */
  waitingPayments(): Promise<readonly (Count & { readonly reason: string | null })[]> {
    return this.rows(WAITING_PAYMENTS);
  }

  catalogCopies(): Promise<readonly CatalogStatusOut[]> {
    return this.rows(
      `SELECT split_part(key, '/', 1) AS kind, count(fetched_at)::integer AS copies,
              min(fetched_at) AS oldest_fetched_at, max(fetched_at) AS newest_fetched_at
         FROM catalog_copies GROUP BY kind ORDER BY kind`,
    );
  }

  jobs(): Promise<readonly JobFact[]> {
    return this.rows(
      `SELECT name,
              CASE WHEN finished_at IS NOT NULL THEN 'done'
                   WHEN leased_until > now() THEN 'running' ELSE 'broken-off' END AS state,
              started_at, finished_at, holder, report, greatest(succeeded_at, finished_at) AS succeeded_at,
              interval_seconds
         FROM job_runs ORDER BY name`,
    );
  }

  /** Finds each scope's last run through an index, so the number of stored runs does not matter. */
  lastAudits(): Promise<readonly AuditRunOut[]> {
    return this.rows(
      `SELECT scope, started_at, finished_at, ok,
              (SELECT coalesce(json_agg(broken.value - 'rows'), '[]')
                 FROM jsonb_array_elements(run.violations) AS broken) AS violations
         FROM (VALUES ('day'), ('all')) AS scopes (name),
              LATERAL (SELECT * FROM audit_runs WHERE scope = name ORDER BY id DESC LIMIT 1) AS run`,
    );
  }

  async replicas(): Promise<ReplicaOut[]> {
    const replicas = await this.rows<{ holder: string; reported_at: Date; report: ReplicaReport }>(
      `SELECT holder, reported_at, report FROM replica_reports
        WHERE reported_at > now() - make_interval(secs => $1) ORDER BY report->>'started_at', holder`,
      [FRESH_SECONDS],
    );
    return replicas.map(({ report, ...replica }) => ({ ...replica, ...report }));
  }

  async failedWebhooks(): Promise<number> {
    const webhooks = await this.row<{ count: number }>(
      `SELECT count(*)::integer AS count FROM webhooks WHERE disabled_reason IN ('failing', 'gone')`,
    );
    return webhooks.count;
  }

  async databaseBytes(): Promise<number> {
    const database = await this.row<{ size: number }>(
      'SELECT pg_database_size(current_database())::float8 AS size',
    );
    return database.size;
  }

  /**
   * Counts standbys; if we lack the privilege to see their state, counts active replication slots instead.
   */
  copiesOfTheDatabase(): Promise<{
    standbys: number;
    isArchived: boolean;
    isFailing: boolean | null;
    archivedAt: Date | null;
  }> {
    return this.row(
      `SELECT (CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
                    THEN (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming')
                    ELSE (SELECT count(*) FROM pg_replication_slots
                           WHERE slot_type = 'physical' AND active AND NOT temporary)
                    END)::integer AS standbys,
              current_setting('archive_mode') <> 'off' AS "isArchived",
              last_failed_time > coalesce(last_archived_time, '-infinity') AS "isFailing",
              -- A crash clears the statistics. Until another file is archived, use the time of that reset.
              coalesce(last_archived_time, stats_reset) AS "archivedAt"
         FROM pg_stat_archiver`,
    );
  }

  private async row<Row extends object>(
    statement: string,
    parameters: readonly unknown[] = [],
  ): Promise<Row> {
    return requireRow(await this.rows<Row>(statement, parameters), statement);
  }
}
