import type { EntityManager } from 'typeorm';
import { queryRow, queryRows } from '../database';

/** Null fields mean that renewals are not paused. */
export interface GlobalRenewalPause {
  readonly paused_at: Date | null;
  readonly paused_reason: string | null;
}

export async function pauseRenewalsOf(
  manager: EntityManager,
  userId: number,
  isPaused: boolean,
  reason: string,
): Promise<void> {
  await queryRows(
    manager,
    `INSERT INTO renewal_settings AS kept (user_id, paused_at, paused_reason)
     VALUES ($1, CASE WHEN $2 THEN now() END, CASE WHEN $2 THEN $3 END)
     ON CONFLICT (user_id) DO UPDATE
       SET paused_at = CASE WHEN $2 THEN coalesce(kept.paused_at, now()) END,
           paused_reason = excluded.paused_reason`,
    [userId, isPaused, reason],
  );
}

export async function pauseAllRenewals(
  manager: EntityManager,
  isPaused: boolean,
  reason: string,
): Promise<{ readonly before: GlobalRenewalPause; readonly after: GlobalRenewalPause }> {
  const before = await queryRow<GlobalRenewalPause>(
    manager,
    'SELECT paused_at, paused_reason FROM renewals_pause FOR UPDATE',
  );
  const after = await queryRow<GlobalRenewalPause>(
    manager,
    `UPDATE renewals_pause
        SET paused_at = CASE WHEN $1 THEN coalesce(paused_at, now()) END,
            paused_reason = CASE WHEN $1 THEN $2 END
     RETURNING paused_at, paused_reason`,
    [isPaused, reason],
  );
  return { before, after };
}
