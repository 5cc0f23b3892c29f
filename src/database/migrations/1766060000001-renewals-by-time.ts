import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/**
 * For staff, the status and the metrics: what is due, and lists by state and by reason. And for retention:
 * whether a rule has renewals.
 */
export class RenewalsByTime1766060000001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(runner, 'renewals_due_at_idx', 'ON renewals (due_at, state, reason)');
    await createIndexConcurrently(runner, 'renewals_state_idx', 'ON renewals (state, id)');
    await createIndexConcurrently(
      runner,
      'renewals_reason_idx',
      'ON renewals (reason, id) WHERE reason IS NOT NULL',
    );
    await createIndexConcurrently(runner, 'renewals_rule_id_idx', 'ON renewals (rule_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP INDEX renewals_due_at_idx, renewals_state_idx, renewals_reason_idx, renewals_rule_id_idx',
    );
  }
}
