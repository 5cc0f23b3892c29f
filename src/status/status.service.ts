import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { UpstreamProvider } from '../provider';
import { FRESH_SECONDS, type ReplicaReport } from './replica-reports';

/** The service as staff see it. */
export interface Status {
  /** Of our account at the provider, roubles; null before its first answer. */
  readonly provider_balance: {
    readonly amount: string;
    readonly seen_at: Date;
    readonly is_low: boolean;
  } | null;
  /** Not yet sent to the provider. */
  readonly orders_waiting: number;
  /** Sent, and being looked for. */
  readonly orders_confirming: number;
  /** For staff to decide. */
  readonly orders_in_review: number;
  /** The copies of the provider's catalogue. */
  readonly catalogue: readonly {
    readonly kind: string;
    readonly copies: number;
    readonly oldest_fetched_at: Date | null;
    readonly newest_fetched_at: Date | null;
  }[];
  /** The last run of each job that one replica does for all; one without an end is under way, or broke off. */
  readonly jobs: readonly {
    readonly name: string;
    readonly started_at: Date;
    readonly finished_at: Date | null;
    readonly holder: string;
    /** Counts by name: what it did, or how far it has come. */
    readonly report: Readonly<Record<string, number>> | null;
  }[];
  /** Those that were heard of in the last seconds. */
  readonly replicas: readonly (ReplicaReport & { readonly holder: string; readonly reported_at: Date })[];
}

/** Reads from the database what all replicas have left there. */
@Injectable()
export class StatusService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(UpstreamProvider) private readonly provider: UpstreamProvider,
  ) {}

  async read(): Promise<Status> {
    const [balance] = await this.query<NonNullable<Status['provider_balance']>>(
      'SELECT round(balance, 2) AS amount, seen_at, is_low FROM provider_accounts WHERE provider = $1',
      [this.provider.name],
    );
    return {
      provider_balance: balance ?? null,
      orders_waiting: await this.countOrders('reserved'),
      orders_confirming: await this.countOrders('confirming'),
      orders_in_review: await this.countOrders('review'),
      catalogue: await this.query(
        `SELECT split_part(key, '/', 1) AS kind, count(fetched_at) AS copies,
                min(fetched_at) AS oldest_fetched_at, max(fetched_at) AS newest_fetched_at
           FROM catalogue_copies GROUP BY kind ORDER BY kind`,
      ),
      jobs: await this.query(
        'SELECT name, started_at, finished_at, holder, report FROM job_runs ORDER BY name',
      ),
      replicas: await this.freshReplicas(),
    };
  }

  private async freshReplicas(): Promise<Status['replicas']> {
    const replicas = await this.query<{ holder: string; reported_at: Date; report: ReplicaReport }>(
      `SELECT holder, reported_at, report FROM replica_reports
        WHERE reported_at > now() - make_interval(secs => $1) ORDER BY report->>'started_at', holder`,
      [FRESH_SECONDS],
    );
    return replicas.map(({ report, ...replica }) => ({ ...replica, ...report }));
  }

  /** The state stands in the statement, so that a partial index on it is seen to fit. */
  private async countOrders(state: 'reserved' | 'confirming' | 'review'): Promise<number> {
    const [orders] = await this.query<{ count: number }>(
      `SELECT count(*) AS count FROM orders WHERE state = '${state}'`,
    );
    return orders?.count ?? 0;
  }

  private query<Row>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return queryRows<Row>(this.dataSource, statement, parameters);
  }
}
