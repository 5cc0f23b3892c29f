import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config';
import { queryRows } from '../database';
import { Retention, type RetentionStep, STEP_ROWS } from '../work';

/** How long failed renewals are kept. Renewals with an order are accounting data. */
@Injectable()
export class RenewalsRetention {
  constructor(
    private readonly dataSource: DataSource,
    { retention: { historyDays } }: AppConfig,
    retention: Retention,
  ) {
    retention.addOldRows({
      name: 'failed_renewals',
      table: 'renewals',
      time: 'created_at',
      days: historyDays,
      removal: `DELETE FROM renewals WHERE id = ANY (ARRAY(SELECT id FROM old)) AND state = 'failed'`,
    });
    if (historyDays > 0) {
      retention.add<number>('renewal_rules', (place) => this.forgetRules(historyDays, place ?? 0));
    }
  }

  /** Iterates over all rules by id: each step reads as many rows, however many were disabled. */
  private async forgetRules(days: number, after: number): Promise<RetentionStep<number>> {
    const [step] = await queryRows<{ removed: number; next: number | null }>(
      this.dataSource,
      `WITH walked AS (
         SELECT id, switched_off_at FROM renewal_rules WHERE id > $2 ORDER BY id LIMIT $3
       ), removed AS (
         DELETE FROM renewal_rules rule
          WHERE id = ANY (ARRAY(SELECT id FROM walked
                                 WHERE switched_off_at < now() - make_interval(days => $1)))
            AND NOT EXISTS (SELECT FROM renewals WHERE rule_id = rule.id)
         RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM walked) AS next`,
      [days, after, STEP_ROWS],
    );
    return step ?? { removed: 0, next: null };
  }
}
