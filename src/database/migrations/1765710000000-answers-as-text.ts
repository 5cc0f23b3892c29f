import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the provider answered, as JSON in a text: reading it as jsonb took a fifth of the time of a delivery,
 * and jsonb refuses some JSON. Answers of earlier versions stay in `answer`.
 */
export class AnswersAsText1765710000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstream_calls ADD COLUMN IF NOT EXISTS answer_json text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE upstream_calls DROP COLUMN answer_json');
  }
}
