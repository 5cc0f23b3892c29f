import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow, queryRows } from '../database';
import { Jobs } from './jobs';
import type { LeasedRun } from './leased-run';

export interface RetentionStep<Cursor> {
  readonly removed: number;
  /** Where the next step starts; null after the last step. */
  readonly next: Cursor | null;
}

export interface RetentionRule {
  /** Plural noun for the removed rows, used in the job's report. */
  readonly name: string;
  readonly table: string;
  /** An indexed numeric column that increases with time. Defaults to `id`. */
  readonly key?: string;
  readonly time: string;
  readonly days: number;
  /** SQL condition for old rows that must be kept for now. */
  readonly stays?: string;
  /** A DELETE or UPDATE of the rows whose keys are in the CTE `old (id)`. */
  readonly removal: string;
}

const INTERVAL_SECONDS = 3600;
export const STEP_ROWS = 1000;
/** Each pause is twice as long as the step before it, so pauses take two thirds of a run. */
const PAUSE_FACTOR = 2;

type Step = (cursor: unknown) => Promise<RetentionStep<unknown>>;

/** Removes rows in small steps, with pauses that leave time for other users of the database. */
@Injectable()
export class Retention {
  private readonly logger = new Logger(Retention.name);
  private readonly steps = new Map<string, Step>();

  constructor(
    private readonly dataSource: DataSource,
    jobs: Jobs,
  ) {
    jobs.run({
      name: 'retention',
      everySeconds: INTERVAL_SECONDS,
      execute: (run, cutOff) => this.removeAll(run, cutOff),
    });
  }

  /** `name` is a plural noun for the removed rows. `step` receives the previous step's `next`. */
  add<Cursor>(name: string, step: (cursor: Cursor | null) => Promise<RetentionStep<Cursor>>): void {
    this.steps.set(name, step as Step);
  }

  /** Adds a rule for rows that expire in key order. With 0 days, rows are kept forever. */
  addOldRows({ name, table, key = 'id', time, days, stays = 'false', removal }: RetentionRule): void {
    this.addWalk(
      name,
      days,
      // A step ends at the first row that is too young, because the rows' times may not be in exactly the
      // same order as their keys.
      `next AS MATERIALIZED (
         SELECT ${key} AS id, ${time} < now() - make_interval(days => $2) AS is_old
           FROM ${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT $3
       ),
       passed AS MATERIALIZED (
         SELECT id FROM next
          WHERE id < coalesce((SELECT min(id) FROM next WHERE NOT is_old), 9223372036854775807)
       ),
       looked_at AS (
         SELECT id FROM passed UNION SELECT unnest(left_ids) FROM retention_marks WHERE name = $4
       ),
       staying AS MATERIALIZED (
         SELECT ${key} AS id FROM ${table} WHERE ${key} = ANY (ARRAY(SELECT id FROM looked_at)) AND (${stays})
       ),
       old AS MATERIALIZED (SELECT id FROM looked_at EXCEPT SELECT id FROM staying),
       removed AS (${removal} RETURNING 1),
       walked AS (SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM passed) AS last,
                         ARRAY(SELECT id FROM staying ORDER BY id) AS left_ids)`,
    );
  }

  /**
   * Adds a rule for rows that expire in id order.
   * @param walk a CTE `walked (removed, last, left_ids)`. It processes the next `$3` rows with ids above
   * `$1`. It also retries the rows that earlier runs had to keep, whose ids are stored in `left_ids` of the
   * `retention_marks` row named `$4`. Its columns are: `removed`, the number of removed rows; `last`, the id
   * of the last row older than `$2` days; and `left_ids`, the ids of the old rows that stay
   */
  addWalk(name: string, days: number, walk: string): void {
    if (days === 0) return;
    this.add<number>(name, async (cursor) => {
      const { removed, last } = await queryRow<{ removed: number; last: number | null }>(
        this.dataSource,
        `WITH ${walk},
         marked AS (
           INSERT INTO retention_marks AS mark (name, last_id, left_ids)
           SELECT $4, coalesce(last, $1), left_ids FROM walked WHERE last IS NOT NULL OR removed > 0
           ON CONFLICT (name) DO UPDATE SET last_id = excluded.last_id, left_ids = excluded.left_ids
         )
         SELECT removed, last FROM walked`,
        [cursor ?? (await this.mark(name)), days, STEP_ROWS, name],
      );
      return { removed, next: last };
    });
  }

  private async removeAll(run: LeasedRun, signal: AbortSignal): Promise<object> {
    const report = Object.fromEntries([...this.steps.keys()].map((name) => [name, 0]));
    for (const [name, step] of this.steps) {
      await run.repeat(report, name, async (cursor) => {
        const begunMs = performance.now();
        const { removed, next } = await step(cursor);
        if (next !== null) {
          await pause((performance.now() - begunMs) * PAUSE_FACTOR, undefined, { signal });
        }
        return { done: removed, next };
      });
    }
    const removed = Object.entries(report).filter(([, count]) => count > 0);
    if (removed.length > 0) {
      this.logger.log(
        'removed after their retention period: ' +
          removed.map(([name, count]) => `${count} ${name}`).join(', '),
      );
    }
    return report;
  }

  private async mark(name: string): Promise<number> {
    const [mark] = await queryRows<{ id: number }>(
      this.dataSource,
      'SELECT last_id AS id FROM retention_marks WHERE name = $1',
      [name],
    );
    return mark?.id ?? Number.MIN_SAFE_INTEGER;
  }
}
