import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type QueryRunner } from 'typeorm';
import { databaseTime, queryRows } from '../database';
import { ProxyProvider } from '../provider';
import { type Invariant, INVARIANTS, PROVIDER_INVARIANTS } from './invariants';

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

const SHOWN_ROWS = 20;

/** What this audit has been told by the provider, for the statements of the invariants. */
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
   * @param options.withProvider also checks the database against all that the provider lists
   * @throws ProviderError when the provider's listing could not be read completely
   */
  async run({ withProvider = false } = {}): Promise<IntegrityReport> {
    const session = this.dataSource.createQueryRunner();
    const audit = randomUUID();
    try {
      // A long history takes long to check, and no request waits for it.
      await session.query(
        `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET work_mem = '64MB'`,
      );
      const listedAt = withProvider ? await this.storeListing(audit) : undefined;
      await session.startTransaction('REPEATABLE READ');
      await session.query('SET TRANSACTION READ ONLY');
      const checks: InvariantResult[] = [];
      for (const invariant of INVARIANTS) checks.push(await check(session, invariant));
      if (listedAt) {
        for (const invariant of PROVIDER_INVARIANTS) {
          checks.push(await check(session, invariant, [listedAt, audit], PROVIDER_LISTING));
        }
      }
      await session.commitTransaction();
      return { ok: checks.every(({ violations }) => violations === 0), checks };
    } finally {
      await session.query('RESET ALL').catch(() => undefined);
      await session.release();
      if (withProvider) await this.forgetListings(audit).catch(() => undefined);
    }
  }

  /**
   * Stores all that the provider lists. The service's role may not create temporary tables, so the rows carry
   * the id of their audit.
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

async function check(
  session: QueryRunner,
  { name, violations }: Invariant,
  parameters: unknown[] = [],
  source = '',
): Promise<InvariantResult> {
  const [found] = (await session.query(
    `WITH ${source === '' ? '' : `${source}, `}violations AS (${violations})
     SELECT (SELECT count(*) FROM violations) AS violations,
            (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
    parameters,
  )) as [{ violations: number; rows: unknown[] | null }];
  return { name, violations: found.violations, rows: found.rows ?? [] };
}
