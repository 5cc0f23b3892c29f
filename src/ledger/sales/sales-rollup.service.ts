import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../../database';
import type { LeasedRun } from '../../jobs';
import { SALES_COLUMNS, dailySalesSql } from './sales-sums';

const DAYS_AT_ONCE = 7;
/** A day's sales are final this long after the day's end. No transaction takes longer. */
const SETTLED_AFTER_MINUTES = 15;

/** Rolls up each day's sales once they are final. The first run covers all earlier days. */
@Injectable()
export class SalesRollupService {
  private readonly logger = new Logger(SalesRollupService.name);

  constructor(private readonly dataSource: DataSource) {}

  async rollUp(run: LeasedRun): Promise<{ days: number }> {
    await this.setStart();
    let days = 0;
    for (;;) {
      await run.renew({ days });
      const rolled = await this.rollUpSlice();
      if (rolled === null) break;
      days += rolled;
    }
    if (days > 0) this.logger.log(`sales were rolled up for ${days} days`);
    return { days };
  }

  /** Starts a day before the first sale, because an earlier sale may be committed later. */
  private async setStart(): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO sales_rollup (rolled_to)
       SELECT (first AT TIME ZONE 'UTC')::date - 1
         FROM (SELECT min(closed_at) AS first FROM orders WHERE captured > 0) AS sold
        WHERE first IS NOT NULL
       ON CONFLICT DO NOTHING`,
    );
  }

  /** @returns the number of rolled-up days; 0 if another replica got there first, null if no days are left */
  private async rollUpSlice(): Promise<number | null> {
    const [slice] = await queryRows<{ from: string; to: string; days: number }>(
      this.dataSource,
      `SELECT rolled_to::text AS "from", upto::text AS "to", upto - rolled_to AS days
         FROM sales_rollup, least(rolled_to + $1::integer,
                                  ((now() - make_interval(mins => $2)) AT TIME ZONE 'UTC')::date) AS upto
        WHERE upto > rolled_to`,
      [DAYS_AT_ONCE, SETTLED_AFTER_MINUTES],
    );
    if (!slice) return null;
    const taken = await queryRows(
      this.dataSource,
      `WITH taken AS (
         UPDATE sales_rollup SET rolled_to = $2::date WHERE rolled_to = $1::date RETURNING 1
       ), written AS (
         INSERT INTO sales_days (${SALES_COLUMNS})
         SELECT ${SALES_COLUMNS} FROM (${dailySalesSql('$1::date', '$2::date')}) AS sums
          WHERE EXISTS (SELECT FROM taken)
       )
       SELECT * FROM taken`,
      [slice.from, slice.to],
    );
    return taken.length > 0 ? slice.days : 0;
  }
}
