import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow, queryRows } from '../database';
import { Jobs } from './jobs';
import type { LeasedRun } from './leased-run';

export interface RetryTimes {
  readonly table: string;
  readonly column: string;
  /** SQL condition for rows that wait to be retried. */
  readonly where: string;
  /** SQL interval. */
  readonly longestPause: string;
  /** SQL interval after which to retry rows that are scheduled too far ahead; by default, immediately. */
  readonly pause?: string;
}

const EVERY_SECONDS = 60;
/** Smaller clock jumps are ignored, because they may come from a slow query. */
const JUMP_MS = 60_000;

/** Brings forward retries that were scheduled while the database's clock was ahead. */
@Injectable()
export class RetryClockCorrection {
  private readonly logger = new Logger(RetryClockCorrection.name);
  private readonly times: RetryTimes[] = [];
  /** The database's time minus this process's monotonic clock, as of the last run. */
  private offsetMs: number | undefined;

  constructor(
    private readonly dataSource: DataSource,
    jobs: Jobs,
  ) {
    jobs.run({ name: 'retries', everySeconds: EVERY_SECONDS, execute: (run) => this.bringForward(run) });
  }

  add(times: RetryTimes): void {
    this.times.push(times);
  }

  private async bringForward(run: LeasedRun): Promise<Record<string, number>> {
    const { jumpMs, ahead } = await this.look();
    const report: Record<string, number> = {};
    for (const times of ahead) {
      const { table, column, pause = `interval '0'` } = times;
      await run.renew(report);
      const retried = await queryRows(
        this.dataSource,
        `UPDATE ${table} SET ${column} = now() + ${pause}
          WHERE id = ANY (ARRAY(SELECT id ${aheadSql(times)} FOR NO KEY UPDATE SKIP LOCKED))
         RETURNING 1`,
      );
      if (retried.length > 0) report[table] = (report[table] ?? 0) + retried.length;
    }
    const isSet = Math.abs(jumpMs) > JUMP_MS;
    if (isSet || Object.keys(report).length > 0) {
      const how = isSet ? `set by ${Math.round(jumpMs / 1000)} s` : 'ahead';
      this.logger.warn(`the database's clock was ${how}: retries brought forward: ${JSON.stringify(report)}`);
    }
    return report;
  }

  private async look(): Promise<{ jumpMs: number; ahead: readonly RetryTimes[] }> {
    const before = this.offsetMs;
    const { now, are } = await queryRow<{ now: Date; are: readonly boolean[] }>(
      this.dataSource,
      `SELECT clock_timestamp() AS now,
              ARRAY[${this.times.map((times) => `EXISTS (SELECT ${aheadSql(times)})`).join()}] AS are`,
    );
    this.offsetMs = now.getTime() - performance.now();
    const jumpMs = before === undefined ? 0 : this.offsetMs - before;
    return { jumpMs, ahead: this.times.filter((_, n) => are[n]) };
  }
}

/** Returns the FROM and WHERE clauses for rows whose retries are further ahead than the longest pause. */
const aheadSql = ({ table, column, where, longestPause }: RetryTimes): string =>
  `FROM ${table} WHERE ${column} > now() + interval '1 minute' + ${longestPause} AND ${where}`;
