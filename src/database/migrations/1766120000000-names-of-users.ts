import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexConcurrently } from '../concurrent-index';

const NAMES = ['username', 'web_username', 'telegram_username'] as const;

/**
 * What a customer calls itself stands beside what staff call it. Where a sign-in has written over the latter,
 * the audit log has it.
 */
export class NamesOfUsers1766120000000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE users ADD COLUMN IF NOT EXISTS telegram_username text');
    await runner.query(`
      UPDATE users SET telegram_username = username, username = action.after ->> 'username'
        FROM staff_actions AS action
       WHERE action.action = 'users.create' AND action.target_id = users.id::text
         AND users.has_app AND users.username <> action.after ->> 'username'
         AND users.telegram_username IS NULL
    `);
    await createIndexConcurrently(
      runner,
      'users_telegram_username_idx',
      'ON users USING gin (telegram_username gin_trgm_ops)',
    );
    for (const name of NAMES) {
      await createIndexConcurrently(runner, `users_same_${name}_idx`, `ON users (lower(${name}))`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE users SET username = telegram_username WHERE telegram_username IS NOT NULL;
      ALTER TABLE users DROP COLUMN telegram_username;
      DROP INDEX users_same_username_idx, users_same_web_username_idx
    `);
  }
}
