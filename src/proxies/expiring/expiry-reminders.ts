import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { queryRow } from '../../database';
import type { LeasedRun } from '../../jobs';

/** A batch takes a few tens of milliseconds. */
const BATCH_SIZE = 1000;

/**
 * Sends at most one reminder per stage and expiry: a single statement marks the stage as done and writes the
 * event. The shortest stage comes first, so that longer stages that were missed are skipped.
 */
@Injectable()
export class ExpiryReminders {
  private readonly logger = new Logger(ExpiryReminders.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
  ) {}

  /** @returns the number of reminders sent, by stage in hours before expiry */
  async remind(run: LeasedRun): Promise<Record<string, number>> {
    const report: Record<string, number> = {};
    for (const hours of [...this.config.proxies.expiringHours].sort((one, other) => one - other)) {
      await run.repeat<true>(report, `stage_${hours}`, async () => {
        const done = await this.remindBatch(hours);
        return { done, next: done === BATCH_SIZE ? true : null };
      });
    }
    const count = Object.values(report).reduce((sum, each) => sum + each, 0);
    if (count > 0) this.logger.log(`sent ${count} reminders of rentals that end soon`);
    return report;
  }

  /** Skips rows locked by other transactions, which may be changing their expiry. */
  private async remindBatch(hours: number): Promise<number> {
    const { count } = await queryRow<{ count: number }>(
      this.dataSource,
      `WITH reminded AS (
         UPDATE proxies SET reminded_hours = $1
          WHERE id = ANY (ARRAY(
                  SELECT id FROM proxies
                   WHERE active AND date_end > now() AND date_end <= now() + make_interval(hours => $1)
                     AND reminded_hours > $1 AND withdrawn_at IS NULL
                   ORDER BY date_end LIMIT $2
                     FOR NO KEY UPDATE SKIP LOCKED))
         RETURNING id, user_id, date_end
       ), logged AS (
         SELECT log_event(user_id, 'proxy.expiring',
                  jsonb_build_object('proxy_id', id::text, 'date_end', iso_text(date_end),
                                     'hours_left', $1::integer))
           FROM reminded ORDER BY date_end, id
       )
       SELECT count(*) AS count FROM logged`,
      [hours, BATCH_SIZE],
    );
    return count;
  }
}
