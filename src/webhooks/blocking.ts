import { type Queryable, queryRows } from '../database';
import { receiverOf } from './addresses';
import { switchOff, switchOn } from './switching';
import type { DisabledReason } from './webhook.entity';
import { WebhookNotFound } from './webhooks.errors';

/**
 * Has the webhooks of a user made, changed, blocked and unblocked one transaction after the other. It comes
 * before any other lock.
 */
export async function lockUser(manager: Queryable, userId: number): Promise<void> {
  await queryRows(manager, 'SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
}

/** Whether staff have switched the receiver of this URL off for the user. */
export async function isBlocked(manager: Queryable, userId: number, url: string): Promise<boolean> {
  const blocks = await queryRows(
    manager,
    'SELECT FROM blocked_receivers WHERE user_id = $1 AND receiver = $2',
    [userId, receiverOf(url)],
  );
  return blocks.length > 0;
}

/**
 * Switches the receiver of a webhook off for its user, with all webhooks that are on there.
 *
 * @throws WebhookNotFound
 */
export async function blockReceiver(manager: Queryable, webhookId: number): Promise<void> {
  const { key, webhooks } = await lockReceiverOf(manager, webhookId);
  await queryRows(
    manager,
    'INSERT INTO blocked_receivers (user_id, receiver) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    key,
  );
  for (const { id, reason } of webhooks) {
    if (id === webhookId || reason === null) await switchOff(manager, id, 'operator');
  }
}

/**
 * Switches a webhook on, and what else staff switched off at its receiver for the same user.
 *
 * @throws WebhookNotFound
 */
export async function unblockReceiver(manager: Queryable, webhookId: number): Promise<void> {
  const { key, webhooks } = await lockReceiverOf(manager, webhookId);
  await queryRows(manager, 'DELETE FROM blocked_receivers WHERE user_id = $1 AND receiver = $2', key);
  for (const { id, reason } of webhooks) {
    if (id === webhookId || reason === 'operator') await switchOn(manager, id);
  }
}

/** The key of the block of a webhook's receiver, and all webhooks of its user there. Locks the user. */
async function lockReceiverOf(manager: Queryable, webhookId: number) {
  const [owner] = await queryRows<{ userId: number }>(
    manager,
    'SELECT user_id AS "userId" FROM webhooks WHERE id = $1',
    [webhookId],
  );
  if (!owner) throw new WebhookNotFound();
  await lockUser(manager, owner.userId);
  const all = await queryRows<{ id: number; url: string; reason: DisabledReason | null }>(
    manager,
    `SELECT id, url, disabled_reason AS reason FROM webhooks
      WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id`,
    [owner.userId],
  );
  const named = all.find(({ id }) => id === webhookId);
  if (!named) throw new WebhookNotFound();
  const receiver = receiverOf(named.url);
  return {
    key: [owner.userId, receiver],
    webhooks: all.filter(({ url }) => receiverOf(url) === receiver),
  };
}
