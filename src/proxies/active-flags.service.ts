import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { JobLease, queryRows } from '../database';

export interface ActiveFlagsReport {
  /** Whose rental is over. */
  readonly ended: number;
  /** Whose rental lasts all the same: the clock was set back, or somebody wrote it by hand. */
  readonly restored: number;
}

/** A batch takes well below a second; a run that is silent for so long is dead. */
const LEASE_SECONDS = 60;
const BATCH_SIZE = 10_000;

/** The flags that are wrong, each found by a partial index. What is withdrawn is the sweep's to say, flag and all. */
const WRONG = {
  ended: 'active AND date_end <= now()',
  restored: 'NOT active AND withdrawn_at IS NULL AND date_end > now()',
} as const satisfies Record<keyof ActiveFlagsReport, string>;

/** Keeps the stored flags of proxies, which staff and reports see, in step with time. No answer to a customer depends on it. */
@Injectable()
export class ActiveFlagsService {
  private readonly logger = new Logger(ActiveFlagsService.name);
  private readonly lease: JobLease;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    this.lease = new JobLease(dataSource, 'active-flags');
  }

  /** Refreshes the flags when it is time and no other replica does. */
  refreshWhenDue(intervalSeconds: number): Promise<ActiveFlagsReport | null> {
    return this.lease.runWhenDue({ intervalSeconds, leaseSeconds: LEASE_SECONDS }, () => this.refresh());
  }

  private async refresh(): Promise<ActiveFlagsReport> {
    const report = { ended: 0, restored: 0 };
    for (const kind of ['ended', 'restored'] as const) {
      let righted: number;
      do {
        await this.lease.renew(report);
        righted = await this.rightSome(WRONG[kind]);
        report[kind] += righted;
      } while (righted === BATCH_SIZE);
    }
    const text = `${report.ended} proxies have ended, ${report.restored} are active again`;
    if (report.ended + report.restored > 0) this.logger.log(text);
    else this.logger.debug(text);
    return report;
  }

  /**
   * What is being changed at this moment is left to the next round. An array, because the planner takes the few that are wrong for
   * many, and would read the whole table for a join.
   */
  private async rightSome(wrong: string): Promise<number> {
    const [righted] = await queryRows<{ count: number }>(
      this.dataSource,
      `WITH righted AS (
         UPDATE proxies SET active = NOT active
          WHERE id = ANY (ARRAY(SELECT id FROM proxies WHERE ${wrong} ORDER BY date_end LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED))
         RETURNING 1
       )
       SELECT count(*) AS count FROM righted`,
      [BATCH_SIZE],
    );
    return righted?.count ?? 0;
  }
}
