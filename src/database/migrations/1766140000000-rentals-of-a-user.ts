import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

/** What is on rent now, for usage and the forecast, among all that a user ever rented. */
export class RentalsOfAUser1766140000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndexConcurrently(runner, 'proxies_user_id_date_end_idx', 'ON proxies (user_id, date_end)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX proxies_user_id_date_end_idx');
  }
}
