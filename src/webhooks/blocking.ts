import { lockUser, type Queryable, queryRows } from '../database';
import { receiverOf } from './addresses';
import { disableWebhook, enableWebhook } from './enabling';
import type { DisabledReason } from './webhook-states';
import { WebhookNotFound } from './webhooks.errors';

/** Returns whether staff disabled the user's webhooks to the URL's receiver. */
export async function isBlocked(manager: Queryable, userId: number, url: string): Promise<boolean> {
  const blocks = await queryRows(
    manager,
    'SELECT FROM blocked_receivers WHERE user_id = $1 AND receiver = $2',
    [userId, receiverOf(url)],
  );
  return blocks.length > 0;
}

/**
 * Disables the user's webhooks to this webhook's receiver, including any created later.
 * @throws WebhookNotFound
 */
export async function blockReceiver(manager: Queryable, userId: number, webhookId: number): Promise<void> {
  const { receiver, webhooks } = await lockReceiver(manager, userId, webhookId);
  await queryRows(
    manager,
    'INSERT INTO blocked_receivers (user_id, receiver) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [userId, receiver],
  );
  for (const { id, reason } of webhooks) {
    if (id === webhookId || reason === null) await disableWebhook(manager, id, 'operator');
  }
}

/**
 * Enables the webhook. Also enables the user's other webhooks with the same receiver if staff had disabled
 * them.
 * @throws WebhookNotFound
 */
export async function unblockReceiver(manager: Queryable, userId: number, webhookId: number): Promise<void> {
  const { receiver, webhooks } = await lockReceiver(manager, userId, webhookId);
  await queryRows(manager, 'DELETE FROM blocked_receivers WHERE user_id = $1 AND receiver = $2', [
    userId,
    receiver,
  ]);
  for (const { id, reason } of webhooks) {
    if (id === webhookId || reason === 'operator') await enableWebhook(manager, id);
  }
}

async function lockReceiver(manager: Queryable, userId: number, webhookId: number) {
  await lockUser(manager, userId);
  const all = await queryRows<{ id: number; url: string; reason: DisabledReason | null }>(
    manager,
    `SELECT id, url, disabled_reason AS reason FROM webhooks
      WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id`,
    [userId],
  );
  const webhook = all.find(({ id }) => id === webhookId);
  if (!webhook) throw new WebhookNotFound();
  const receiver = receiverOf(webhook.url);
  return { receiver, webhooks: all.filter(({ url }) => receiverOf(url) === receiver) };
}
