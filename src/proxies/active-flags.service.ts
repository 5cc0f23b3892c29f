import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import type { LeasedRun } from '../jobs';

/** Number of flags corrected at a time, which takes well below a second. */
const BATCH_SIZE = 10_000;

/**
 * SQL conditions for wrong flags, each found by a partial index. The sweep keeps the flags of withdrawn
 * proxies.
 */
const WRONG = {
  /** Flags to clear, because the rental has ended. */
  ended: 'active AND date_end <= now()',
  /** Flags to set, because the rental has not ended. The clock went back, or the row was edited. */
  restored: 'NOT active AND withdrawn_at IS NULL AND date_end > now()',
} as const;

/**
 * Keeps the `active` flags of proxies current for staff, reminders and renewals. Responses to customers
 * compare the end itself. Only this service clears the flag of an ended rental, so that each end is announced
 * exactly once (`proxy.expired`, by `record_proxy_changes.sql`).
 */
@Injectable()
export class ActiveFlagsService {
  private readonly logger = new Logger(ActiveFlagsService.name);

  constructor(private readonly dataSource: DataSource) {}

  async refresh(run: LeasedRun): Promise<Record<keyof typeof WRONG, number>> {
    const report = { ended: 0, restored: 0 };
    for (const kind of ['ended', 'restored'] as const) {
      await run.repeat<true>(report, kind, async () => {
        const done = await this.correctBatch(WRONG[kind]);
        return { done, next: done === BATCH_SIZE ? true : null };
      });
    }
    const text = `${report.ended} proxies have ended, ${report.restored} are active again`;
    if (report.ended + report.restored > 0) this.logger.log(text);
    else this.logger.debug(text);
    return report;
  }

  /**
   * Corrects a batch of flags. Rows that another transaction is changing wait until the next run. The ids are
   * an array, because the planner expects many wrong rows and would scan the whole table for a join.
   */
  private async correctBatch(wrong: string): Promise<number> {
    const { count } = await queryRow<{ count: number }>(
      this.dataSource,
      `WITH corrected AS (
         UPDATE proxies
            SET active = NOT active, announced_end = CASE WHEN active THEN date_end ELSE announced_end END
          WHERE id = ANY (ARRAY(
                  SELECT id FROM proxies WHERE ${wrong} ORDER BY date_end LIMIT $1
                     FOR NO KEY UPDATE SKIP LOCKED))
         RETURNING 1
       )
       SELECT count(*) AS count FROM corrected`,
      [BATCH_SIZE],
    );
    return count;
  }
}
