import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';

/** Files in `baseline/`, ordered so that a table refers only to tables in its own or earlier files. */
const AREAS = [
  'users',
  'oauth',
  'orders',
  'refunds',
  'payments',
  'ledger',
  'pricing',
  'renewals',
  'events',
  'operations',
];

/** The schema of version 1.0.0 (`docs/decisions/0025-migrations.md`). */
export class Baseline1768000000000 {
  async up(runner: QueryRunner): Promise<void> {
    for (const area of AREAS) {
      await runner.query(readFileSync(join(__dirname, 'baseline', `${area}.sql`), 'utf8'));
    }
  }

  down(): Promise<never> {
    throw new Error('Nothing was there before the baseline: drop the database instead.');
  }
}
