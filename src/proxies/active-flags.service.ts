import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import type { LeasedRun } from '../jobs';

/** A batch takes well under a second. */
const BATCH_SIZE = 10_000;

/** SQL conditions for a wrong `active` flag. The sync sweep maintains the flags of withdrawn proxies. */
const WRONG = {
  ended: 'active AND date_end <= now()',
  /** The flag is wrongly false, for example, because the clock was set back or the row was edited. */
  restored: 'NOT active AND withdrawn_at IS NULL AND date_end > now()',
} as const;

/**
 * Keeps `active` flags current. Only this service may clear the flag of an ended rental, because
 * `record_proxy_changes.sql` announces the expiry when the flag is cleared.
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

  /** Passes the ids as an array, because with a join the planner would scan the whole table. */
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
