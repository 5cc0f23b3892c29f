import type { PersonalData } from '../database';

/** Erased webhooks are only marked as deleted. Retention removes their rows later. */
export const WEBHOOKS_DATA: PersonalData = {
  webhooks: `
    UPDATE webhooks
       SET deleted_at = now(), disabled_at = coalesce(disabled_at, now()), disabled_reason = 'deleted',
           url = '', types = NULL, description = NULL, secret = NULL, previous_secret = NULL,
           previous_secret_until = NULL
     WHERE user_id = $1 AND (deleted_at IS NULL OR num_nonnulls(types, description) > 0)`,
  blocked_receivers: 'DELETE FROM blocked_receivers WHERE user_id = $1',
};
