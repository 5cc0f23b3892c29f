import { Injectable, Logger } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Clock } from '../common';
import { AppConfig } from '../config';
import { queryRows } from '../database';
import { type LeasedRun, Jobs } from '../jobs';
import { PaymentError, PaymentProvider } from '../payments';
import { lastMoment, SUNDAY } from './audit-times';
import { IntegrityService } from './integrity.service';
import type { AuditScope } from './scopes';

const DAY_SECONDS = 24 * 3600;
const INTERVAL_SECONDS = { day: DAY_SECONDS, all: 7 * DAY_SECONDS };
const ALL_ON = SUNDAY;
/** Maximum time to check one invariant. */
const INVARIANT_SECONDS = 1800;
/** A failed run is retried only when its lease ends, because each run reads many orders. */
const LEASE_SECONDS = 600;
const STORED_RUNS = 400;
/** Tolerated clock difference between replicas. A larger difference causes a second run per due time. */
const CLOCKS_APART_SECONDS = 60;

/** Runs the audit at the configured times, on one replica, and stores the result of each run. */
@Injectable()
export class AuditRuns {
  private readonly logger = new Logger(AuditRuns.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly integrity: IntegrityService,
    private readonly clock: Clock,
    private readonly modules: ModuleRef,
    private readonly config: AppConfig,
    jobs: Jobs,
  ) {
    const { time } = config.audit;
    if (time === null) return;
    for (const scope of ['day', 'all'] as const) {
      jobs.run({
        name: `audit-${scope}`,
        everySeconds: INTERVAL_SECONDS[scope],
        dueForSeconds: () => this.secondsSince(time, scope === 'all' ? ALL_ON : undefined),
        leaseSeconds: LEASE_SECONDS,
        longestStepSeconds: INVARIANT_SECONDS + 60,
        execute: (run, cutOff) => this.audit(scope, run, cutOff),
      });
    }
  }

  private secondsSince(minutes: number, weekday?: number): number {
    const now = this.clock.now();
    return (now.getTime() - lastMoment(now, minutes, weekday).getTime()) / 1000 + CLOCKS_APART_SECONDS;
  }

  private async audit(scope: AuditScope, run: LeasedRun, signal: AbortSignal): Promise<object> {
    const startedAt = performance.now();
    const audit = (payments?: PaymentProvider) =>
      this.integrity.run({
        scope,
        invariantSeconds: INVARIANT_SECONDS,
        beforeEach: (checked) => run.renew({ checked }),
        signal,
        ...(payments && { payments }),
      });
    const { invariants } = await audit(this.paymentsOf(scope)).catch((error: unknown) => {
      if (!(error instanceof PaymentError)) throw error;
      this.logger.error(`the audit did not check payments: ${error.message}`);
      return audit();
    });
    const violated = invariants.filter(({ violations }) => violations > 0);
    await this.keep(scope, performance.now() - startedAt, violated);
    if (violated.length > 0) {
      const names = violated.map(({ name, violations }) => `${name} (${violations})`).join(', ');
      this.logger.error(
        `the audit found violations in the books: ${names}. \`cli audit\` shows the rows; ` +
          'docs/runbook.md (AuditFails) describes what to do',
      );
    }
    return { checked: invariants.length, violated: violated.length };
  }

  private paymentsOf(scope: AuditScope): PaymentProvider | undefined {
    if (scope === 'all' || this.config.payments.provider === 'off') return undefined;
    return this.modules.get(PaymentProvider, { strict: false });
  }

  private async keep(scope: AuditScope, tookMs: number, violated: readonly object[]): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH forgotten AS (
         DELETE FROM audit_runs
          WHERE scope = $1 AND id <= (SELECT id FROM audit_runs WHERE scope = $1
                                       ORDER BY id DESC OFFSET $4 LIMIT 1)
       )
       INSERT INTO audit_runs (scope, started_at, finished_at, ok, violations)
       VALUES ($1, now() - make_interval(secs => $2), now(), $3::jsonb = '[]', $3)`,
      [scope, tookMs / 1000, JSON.stringify(violated), STORED_RUNS - 1],
    );
  }
}
