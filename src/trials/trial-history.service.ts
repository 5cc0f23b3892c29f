import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config';
import { JobLease, queryRows } from '../database';

export interface TrialHistoryReport {
  readonly forgotten: number;
}

/** A batch takes well below a second, so a run that is silent for this long is dead. */
const LEASE_SECONDS = 60;
const BATCH_SIZE = 10_000;

/** Removes the results of trials that are older than they are kept. */
@Injectable()
export class TrialHistoryService {
  private readonly lease: JobLease;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
  ) {
    this.lease = new JobLease(dataSource, 'trial-history');
  }

  /** Does it when it is due and no other replica does it; gives null otherwise. */
  forgetWhenDue(intervalSeconds: number): Promise<TrialHistoryReport | null> {
    return this.lease.runWhenDue({ intervalSeconds, leaseSeconds: LEASE_SECONDS }, async () => {
      const report = { forgotten: 0 };
      let forgotten: number;
      do {
        await this.lease.renew(report);
        forgotten = await this.forgetBatch();
        report.forgotten += forgotten;
      } while (forgotten === BATCH_SIZE);
      return report;
    });
  }

  /** The oldest have the lowest ids, so that no index of their times is needed. */
  private async forgetBatch(): Promise<number> {
    const [{ count } = { count: 0 }] = await queryRows<{ count: number }>(
      this.dataSource,
      `WITH oldest AS MATERIALIZED (
         SELECT id, tried_at FROM proxy_trials ORDER BY id LIMIT $1
       ),
       forgotten AS (
         DELETE FROM proxy_trials
          WHERE id IN (SELECT id FROM oldest WHERE tried_at < now() - make_interval(days => $2))
         RETURNING 1
       )
       SELECT count(*) AS count FROM forgotten`,
      [BATCH_SIZE, this.config.trials.historyDays],
    );
    return count;
  }
}
