import { type Queryable, queryRows } from '../database';
import type { DisabledReason } from './webhook-states';

const PUBLISHED_AT_ONCE = 500;

/**
 * Disables a webhook; a trigger writes an event for its user. Pending deliveries wait until it is
 * enabled again. If it is off already, only the operator's reason replaces an earlier one.
 */
export async function disableWebhook(
  queryable: Queryable,
  webhookId: number,
  reason: Exclude<DisabledReason, 'deleted'>,
): Promise<void> {
  await queryRows(
    queryable,
    `UPDATE webhooks SET disabled_at = coalesce(disabled_at, now()), disabled_reason = $2
      WHERE id = $1 AND deleted_at IS NULL AND (disabled_at IS NULL OR $2 = 'operator')`,
    [webhookId, reason],
  );
}

/** Enables a webhook, unless it is enabled: it receives later events and waiting deliveries. */
export async function enableWebhook(manager: Queryable, webhookId: number): Promise<void> {
  await holdPublishing(manager);
  await queryRows(
    manager,
    `UPDATE webhooks
        SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, failures_in_a_row = 0,
            paused_until = NULL, since_position = ${LAST_POSITION}
      WHERE id = $1 AND disabled_at IS NOT NULL AND deleted_at IS NULL`,
    [webhookId],
  );
}

/** The position of the last published event of a webhook's user, in a statement that has `user_id`. */
export const LAST_POSITION =
  'coalesce((SELECT max(position) FROM events WHERE events.user_id = webhooks.user_id), 0)';

/**
 * Blocks publishing until the transaction ends, so that earlier events see the old webhooks and later ones
 * the new webhooks. Take this lock before any lock on a webhook, as publishing does. Waiting events are
 * published first: publishers do not wait for the lock, and constant changes of webhooks would starve them.
 */
export async function holdPublishing(manager: Queryable): Promise<void> {
  await queryRows(manager, 'SELECT pg_advisory_xact_lock(publishing_lock())');
  await queryRows(manager, 'SELECT publish_events($1)', [PUBLISHED_AT_ONCE]);
}
