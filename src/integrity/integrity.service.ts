import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type QueryRunner } from 'typeorm';
import { databaseTime } from '../database';
import { type ListedProxy, ProxyProvider } from '../provider';
import { INVARIANTS, PROVIDER_INVARIANTS } from './invariants';

export interface AuditCheck {
  readonly name: string;
  /** How many rows break it. */
  readonly violations: number;
  /** The first of them. */
  readonly rows: readonly unknown[];
}

export interface IntegrityReport {
  readonly ok: boolean;
  readonly checks: readonly AuditCheck[];
}

const SHOWN_ROWS = 20;

/** Holds the books against the invariants, all in one consistent snapshot. */
@Injectable()
export class IntegrityService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
  ) {}

  /**
   * @param options.upstream also against everything that the provider lists
   * @throws ProviderError when the provider cannot be read to the end
   */
  async run({ upstream = false } = {}): Promise<IntegrityReport> {
    const session = this.dataSource.createQueryRunner();
    try {
      // A large history takes its time, and nobody waits for these reads.
      await session.query(
        `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET work_mem = '64MB'`,
      );
      const listedAt = upstream ? await this.listProvider(session) : undefined;
      await session.startTransaction('REPEATABLE READ');
      await session.query('SET TRANSACTION READ ONLY');
      const checks: AuditCheck[] = [];
      for (const invariant of INVARIANTS) checks.push(await check(session, invariant));
      if (listedAt) {
        for (const invariant of PROVIDER_INVARIANTS) checks.push(await check(session, invariant, [listedAt]));
      }
      await session.commitTransaction();
      return { ok: checks.every((one) => one.violations === 0), checks };
    } finally {
      await session.query('RESET ALL; DROP TABLE IF EXISTS provider_listing').catch(() => undefined);
      await session.release();
    }
  }

  /** Reads everything the provider lists into a table of this session. Gives the database's time before the first page. */
  private async listProvider(session: QueryRunner): Promise<Date> {
    await session.query(
      'CREATE TEMPORARY TABLE provider_listing (provider_proxy_id text PRIMARY KEY, tag text, date_end timestamptz)',
    );
    const listedAt = await databaseTime(this.dataSource);
    for await (const page of this.provider.allProxies()) await store(session, page);
    await session.query('ANALYZE provider_listing');
    return listedAt;
  }
}

async function store(session: QueryRunner, page: readonly ListedProxy[]): Promise<void> {
  await session.query(
    `INSERT INTO provider_listing SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) ON CONFLICT DO NOTHING`,
    [page.map(({ id }) => id), page.map(({ tag }) => tag), page.map(({ dateEnd }) => dateEnd)],
  );
}

async function check(
  session: QueryRunner,
  { name, violations }: { readonly name: string; readonly violations: string },
  parameters: readonly unknown[] = [],
): Promise<AuditCheck> {
  const [found] = (await session.query(
    `WITH violations AS (${violations})
     SELECT (SELECT count(*) FROM violations) AS violations,
            (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
    [...parameters],
  )) as [{ violations: number; rows: unknown[] | null }];
  return { name, violations: found.violations, rows: found.rows ?? [] };
}
