import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { INVARIANTS } from './invariants';

export interface AuditCheck {
  readonly name: string;
  /** How many rows break it. */
  readonly violations: number;
  /** The first of them. */
  readonly rows: readonly unknown[];
}

export interface AuditReport {
  readonly ok: boolean;
  readonly checks: readonly AuditCheck[];
}

const SHOWN_ROWS = 20;

/** Holds the books against the invariants, all in one consistent snapshot. */
@Injectable()
export class AuditService {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  run(): Promise<AuditReport> {
    return this.dataSource.transaction('REPEATABLE READ', async (snapshot) => {
      await snapshot.query('SET TRANSACTION READ ONLY');
      await snapshot.query('SET LOCAL statement_timeout = 0');
      const checks: AuditCheck[] = [];
      for (const { name, violations } of INVARIANTS) {
        const [found] = await snapshot.query<[{ violations: number; rows: unknown[] | null }]>(
          `WITH violations AS (${violations})
           SELECT (SELECT count(*) FROM violations) AS violations,
                  (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
        );
        checks.push({ name, violations: found.violations, rows: found.rows ?? [] });
      }
      return { ok: checks.every((check) => check.violations === 0), checks };
    });
  }
}
