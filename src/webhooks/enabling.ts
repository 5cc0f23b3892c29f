import { type Queryable, queryRows } from '../database';
import type { DisabledReason } from './webhook-states';

const PUBLISHED_AT_ONCE = 500;

/**
 * Keeps pending deliveries. If the webhook is already disabled, its stored reason is replaced only if the new
 * reason is `operator`.
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

/** The webhook receives its pending deliveries and all future events, but none published while disabled. */
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

/** SQL for the position of a user's last event. The surrounding statement must provide `webhooks.user_id`. */
export const LAST_POSITION =
  'coalesce((SELECT max(position) FROM events WHERE events.user_id = webhooks.user_id), 0)';

/**
 * Blocks publishing until the transaction ends. To avoid a deadlock, must run before any webhook is locked.
 * Publishes waiting events first. Otherwise, frequent changes to webhooks could starve the publishers.
 */
export async function holdPublishing(manager: Queryable): Promise<void> {
  await queryRows(manager, 'SELECT pg_advisory_xact_lock(publishing_lock())');
  await queryRows(manager, 'SELECT publish_events($1)', [PUBLISHED_AT_ONCE]);
}
