import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { clientOutsideThePool, databaseTime, queryRows } from '../database';
import { ProxyProvider } from '../provider';
import { INVARIANTS, PROVIDER_INVARIANTS } from './invariants';
import { type AuditScope, SCOPE_SQL } from './scopes';

export interface InvariantResult {
  readonly name: string;
  /** The number of rows that break it. */
  readonly violations: number;
  /** The first of them. */
  readonly rows: readonly unknown[];
}

export interface IntegrityReport {
  readonly ok: boolean;
  readonly checks: readonly InvariantResult[];
}

export interface AuditOptions {
  /** All by default. */
  readonly scope?: AuditScope;
  /** Also compares the database with the provider's complete listing. */
  readonly withProvider?: boolean;
  /** Ends the audit, including its running statement. */
  readonly signal?: AbortSignal;
  /** Runs before each invariant is checked. */
  readonly beforeEach?: (checked: number) => Promise<void>;
  /** How long one invariant may take; 0 for no limit. */
  readonly invariantSeconds?: number;
}

const SHOWN_ROWS = 20;

/** The provider's listing of this audit, for the statements of the invariants. */
const PROVIDER_LISTING = `provider_listing AS (
  SELECT provider_proxy_id, tag, date_end FROM provider_listings WHERE audit = $2)`;

/** Checks the invariants, all of them in one consistent snapshot of the database. */
@Injectable()
export class IntegrityService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
  ) {}

  /**
   * Uses no connection of the pool and at most one core of the database, so that requests continue.
   *
   * @throws ProviderError when the provider's listing could not be read completely
   */
  async run(options: AuditOptions = {}): Promise<IntegrityReport> {
    const { scope = 'all', withProvider = false, signal, beforeEach, invariantSeconds = 0 } = options;
    const audit = randomUUID();
    const listedAt = withProvider ? await this.storeListing(audit) : undefined;
    const session = clientOutsideThePool(this.dataSource);
    session.on('error', () => undefined);
    const end = (): void => void session.end().catch(() => undefined);
    signal?.addEventListener('abort', end);
    try {
      signal?.throwIfAborted();
      await session.connect();
      // The server ends the statement of a dead process. Not every system can detect that.
      await session.query(`SET client_connection_check_interval = '5s'`).catch(() => undefined);
      await session.query(
        `SET statement_timeout = '${invariantSeconds}s'; SET idle_in_transaction_session_timeout = '5min';
         SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 0`,
      );
      await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const checks: InvariantResult[] = [];
      for (const { name, violations, ofDay = violations } of INVARIANTS) {
        await beforeEach?.(checks.length);
        const statement = scope === 'day' ? ofDay : violations;
        if (statement !== null) checks.push(await check(session, name, SCOPE_SQL[scope], statement));
      }
      if (listedAt) {
        for (const { name, violations } of PROVIDER_INVARIANTS) {
          checks.push(await check(session, name, `WITH ${PROVIDER_LISTING}`, violations, [listedAt, audit]));
        }
      }
      return { ok: checks.every(({ violations }) => violations === 0), checks };
    } finally {
      signal?.removeEventListener('abort', end);
      end();
      if (withProvider) await this.forgetListings(audit).catch(() => undefined);
    }
  }

  /**
   * Stores the provider's listing. The service's role may not create temporary tables, so the rows have the
   * id of their audit.
   *
   * @returns the database's time before the first page was read
   */
  private async storeListing(audit: string): Promise<Date> {
    const listedAt = await databaseTime(this.dataSource);
    for await (const page of this.provider.allProxies()) {
      await queryRows(
        this.dataSource,
        `INSERT INTO provider_listings (audit, provider_proxy_id, tag, date_end)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::timestamptz[]) ON CONFLICT DO NOTHING`,
        [audit, page.map(({ id }) => id), page.map(({ tag }) => tag), page.map(({ dateEnd }) => dateEnd)],
      );
    }
    return listedAt;
  }

  /** Deletes the listing of an audit, and those of audits that were killed. */
  private async forgetListings(audit: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `DELETE FROM provider_listings WHERE audit = $1 OR listed_at < now() - interval '1 day'`,
      [audit],
    );
  }
}

/** @param source the tables of the statement: `WITH …` */
async function check(
  session: Client,
  name: string,
  source: string,
  statement: string,
  parameters: unknown[] = [],
): Promise<InvariantResult> {
  const { rows } = await session.query<{ violations: number; rows: unknown[] | null }>(
    `${source}, violations AS (${statement})
     SELECT (SELECT count(*) FROM violations) AS violations,
            (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
    parameters,
  );
  const [found] = rows;
  if (!found) throw new Error(`the check of ${name} returned no row`);
  return { name, violations: found.violations, rows: found.rows ?? [] };
}
