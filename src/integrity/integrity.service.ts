import { Injectable } from '@nestjs/common';
import { DataSource, type QueryRunner } from 'typeorm';
import { databaseTime } from '../database';
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
    try {
      // A long history takes long to check, and no request waits for it.
      await session.query(
        `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET work_mem = '64MB'`,
      );
      const listedAt = withProvider ? await this.storeListing(session) : undefined;
      await session.startTransaction('REPEATABLE READ');
      await session.query('SET TRANSACTION READ ONLY');
      const checks: InvariantResult[] = [];
      for (const invariant of INVARIANTS) checks.push(await check(session, invariant));
      if (listedAt) {
        for (const invariant of PROVIDER_INVARIANTS) checks.push(await check(session, invariant, [listedAt]));
      }
      await session.commitTransaction();
      return { ok: checks.every(({ violations }) => violations === 0), checks };
    } finally {
      await session.query('RESET ALL; DROP TABLE IF EXISTS provider_listing').catch(() => undefined);
      await session.release();
    }
  }

  /**
   * Reads all that the provider lists into a temporary table.
   *
   * @returns the database's time before the first page was read
   */
  private async storeListing(session: QueryRunner): Promise<Date> {
    await session.query(
      `CREATE TEMPORARY TABLE provider_listing
         (provider_proxy_id text PRIMARY KEY, tag text, date_end timestamptz)`,
    );
    const listedAt = await databaseTime(this.dataSource);
    for await (const page of this.provider.allProxies()) {
      await session.query(
        `INSERT INTO provider_listing
         SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) ON CONFLICT DO NOTHING`,
        [page.map(({ id }) => id), page.map(({ tag }) => tag), page.map(({ dateEnd }) => dateEnd)],
      );
    }
    await session.query('ANALYZE provider_listing');
    return listedAt;
  }
}

async function check(
  session: QueryRunner,
  { name, violations }: Invariant,
  parameters: unknown[] = [],
): Promise<InvariantResult> {
  const [found] = (await session.query(
    `WITH violations AS (${violations})
     SELECT (SELECT count(*) FROM violations) AS violations,
            (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
    parameters,
  )) as [{ violations: number; rows: unknown[] | null }];
  return { name, violations: found.violations, rows: found.rows ?? [] };
}
