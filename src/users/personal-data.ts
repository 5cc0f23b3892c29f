import type { PersonalData } from '../database';

export const USERS_DATA: PersonalData = {
  users: `
    UPDATE users
       SET deleted_at = now(), username = NULL, tg_id = NULL, telegram_username = NULL, web_username = NULL,
           has_app = false, blocked_at = NULL, blocked_reason = NULL
     WHERE id = $1 AND deleted_at IS NULL`,
};
