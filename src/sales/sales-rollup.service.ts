import { Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { JobLease, queryRows } from '../database';
import { SUMS, sumsByDay } from './sales-sums';

export interface SalesRollupReport {
  /** That are summed up now. */
  readonly days: number;
}

/** Of a million orders a year a week takes 0.05 s; a run that is silent for so long is dead. */
const LEASE_SECONDS = 60;
const DAYS_AT_ONCE = 7;
/** An order or a refund has the time at which its transaction began, and none takes as long as this. */
const SETTLED_AFTER_MINUTES = 15;

/**
 * Sums up the sales of days that are over, once: nothing of such a day is added or changed any more. What was sold before there was this
 * job is summed up by its first run.
 */
@Injectable()
export class SalesRollupService {
  private readonly logger = new Logger(SalesRollupService.name);
  private readonly lease: JobLease;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    this.lease = new JobLease(dataSource, 'sales-days');
  }

  /** Sums up what is over when it is time and no other replica does. */
  rollUpWhenDue(intervalSeconds: number): Promise<SalesRollupReport | null> {
    return this.lease.runWhenDue({ intervalSeconds, leaseSeconds: LEASE_SECONDS }, () => this.rollUp());
  }

  private async rollUp(): Promise<SalesRollupReport> {
    await this.begin();
    let days = 0;
    for (;;) {
      await this.lease.renew({ days });
      const rolled = await this.rollUpSome();
      if (rolled === null) break;
      days += rolled;
    }
    if (days > 0) this.logger.log(`the sales of ${days} days are summed up`);
    return { days };
  }

  /** With the day before the first sale that is seen: one of right before midnight may be committed later. Without a sale not at all. */
  private async begin(): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO sales_rollup (rolled_to)
       SELECT (first AT TIME ZONE 'UTC')::date - 1 FROM (SELECT min(closed_at) AS first FROM orders WHERE captured > 0) AS sold
        WHERE first IS NOT NULL
       ON CONFLICT DO NOTHING`,
    );
  }

  /** Gives the number of days: 0 when another replica was quicker, null when there are no more. */
  private async rollUpSome(): Promise<number | null> {
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
         INSERT INTO sales_days (${SUMS})
         SELECT ${SUMS} FROM (${sumsByDay('$1::date', '$2::date')}) AS sums WHERE EXISTS (SELECT FROM taken)
       )
       SELECT * FROM taken`,
      [slice.from, slice.to],
    );
    return taken.length > 0 ? slice.days : 0;
  }
}
