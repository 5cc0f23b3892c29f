import type { PersonalData } from '../database';

export const OAUTH_DATA: PersonalData = {
  oauth_codes: 'DELETE FROM oauth_codes WHERE user_id = $1',
  oauth_grants: `
    DELETE FROM oauth_grants WHERE token_id IN (SELECT id FROM api_tokens AS token WHERE token.user_id = $1)`,
};
