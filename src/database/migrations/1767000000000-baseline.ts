import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** The files of `baseline/`. Tables refer to those of earlier files. */
const AREAS = ['users', 'orders', 'ledger', 'pricing', 'renewals', 'events', 'operations'];

/** The schema as it was when the history before it was put together (`docs/decisions/0025-migrations.md`). */
export class Baseline1767000000000 implements InstallsFunctions {
  readonly functions = [
    'iso_text',
    'log_event',
    // Users and what staff do.
    'refuse_change',
    'open_account',
    'log_token_event',
    'forget_staff_reads',
    // Balances.
    'lock_accounts',
    'number_ledger_entry',
    'apply_ledger_entries',
    'check_account_follows_ledger',
    'log_balance_event',
    'log_low_balance',
    'count_price_rules_change',
    // Orders.
    'requests_of_key',
    'order_refusals',
    'tag_prefix',
    'order_tag',
    'named_by_tag',
    'place_orders',
    'note_order_state',
    'told_state',
    'refusal_reason',
    'log_order_event',
    'claim_bulk_key',
    'skip_ids',
    // Proxies.
    'is_prolonged',
    'check_proxy_references',
    'count_list_changes',
    'count_proxies_change',
    'note_proxy_changes',
    'begin_stages',
    // Renewals.
    'rule_of_proxy',
    'renewals_spent',
    'renewals_held_up',
    'renewal_refusals',
    'end_confirmed_at',
    'place_renewals',
    // What replicas share.
    'publishing_lock',
    'webhook_takes',
    'publish_events',
    'log_webhook_event',
    'take_rate_permit',
  ];

  async up(runner: QueryRunner): Promise<void> {
    for (const area of AREAS) {
      await runner.query(readFileSync(join(__dirname, 'baseline', `${area}.sql`), 'utf8'));
    }
    await installFunctions(runner, this);
  }

  down(): Promise<never> {
    throw new Error('Nothing was there before the baseline: drop the database instead.');
  }
}
