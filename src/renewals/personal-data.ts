import type { PersonalData } from '../database';

/** Renewals that have an order, and their rules, are accounting data, so they are kept. */
export const RENEWALS_DATA: PersonalData = {
  renewal_settings: 'DELETE FROM renewal_settings WHERE user_id = $1',
  renewal_rules: `
    UPDATE renewal_rules SET disabled_at = coalesce(disabled_at, now()), label = NULL, tag = NULL
     WHERE user_id = $1 AND (disabled_at IS NULL OR num_nonnulls(label, tag) > 0)`,
  renewals: `DELETE FROM renewals WHERE user_id = $1 AND state IN ('planned', 'skipped')`,
};
