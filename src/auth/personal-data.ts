import type { PersonalData } from '../database';

/** Erases tokens' names and networks. Keeps the rows, because orders and the audit log refer to them. */
export const TOKENS_DATA: PersonalData = {
  api_tokens: `
    UPDATE api_tokens
       SET revoked_at = coalesce(revoked_at, now()), name = NULL, allowed_ips = NULL, last_used_at = NULL
     WHERE user_id = $1 AND (revoked_at IS NULL OR num_nonnulls(name, allowed_ips, last_used_at) > 0)`,
};
