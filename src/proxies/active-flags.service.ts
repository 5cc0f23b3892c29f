import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import type { LeasedRun } from '../jobs';

/** Number of flags to correct at a time. A batch takes well under a second. */
const BATCH_SIZE = 10_000;

/**
 * SQL conditions that match proxies with a wrong `active` flag; a partial index supports each. The flags of
 * withdrawn proxies are not restored here, because the sweep maintains them.
 */
const WRONG = {
  ended: 'active AND date_end <= now()',
  /** The clock was set back, or the row was edited. */
  restored: 'NOT active AND withdrawn_at IS NULL AND date_end > now()',
} as const;

/**
 * Keeps the `active` flags current for staff, reminders and renewals. Responses to customers compare
 * `date_end` itself. Only this service clears an ended rental's flag, so `record_proxy_changes.sql` announces
 * each expiry exactly once.
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
   * Corrects a batch of flags, except in rows that another transaction is changing. The ids are an array,
   * because with a join the planner would scan the whole table.
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
