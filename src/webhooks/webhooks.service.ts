import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common';
import { AppConfig } from '../config';
import { changeOfUser, inQueueOf, type Queryable, queryRow, queryRows } from '../database';
import { type Page, type PageRequest, readPage } from '../http';
import { type RetentionStep, STEP_ROWS } from '../jobs';
import { AddressRefused, AddressRules } from './addresses';
import { isBlocked } from './blocking';
import type { AttemptOut, CreatedWebhook, NewSecret, WebhookOut } from './dto/webhook-out.dto';
import type { ChangedWebhookRequest, NewWebhookRequest } from './dto/webhook.request';
import { disableWebhook, enableWebhook, holdPublishing, LAST_POSITION } from './enabling';
import { generateWebhookSecret } from './signing';
import type { DisabledReason } from './webhook-states';
import {
  TooManyWebhooks,
  WebhookDisabledByOperator,
  WebhookNeedsHttps,
  WebhookNotFound,
  WebhooksDisabled,
  WebhookUrlRefused,
} from './webhooks.errors';

const HOUR_MS = 3600 * 1000;

/** `$1` is the current time. */
const SHOWN = `
  id, url, types, description, disabled_at IS NULL AS enabled, disabled_at, disabled_reason, failing_since,
  CASE WHEN previous_secret_until > $1 THEN previous_secret_until END AS previous_secret_until, created_at`;

@Injectable()
export class WebhooksService {
  private readonly addresses: AddressRules;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {
    this.addresses = new AddressRules(config.webhooks.allowedNetworks);
  }

  /** @throws WebhooksDisabled, WebhookNeedsHttps, WebhookUrlRefused, TooManyWebhooks */
  async create(userId: number, { url, types, description }: NewWebhookRequest): Promise<CreatedWebhook> {
    const { maxPerUser } = this.config.webhooks;
    if (maxPerUser === 0) throw new WebhooksDisabled();
    const address = this.readUrl(url);
    const secret = generateWebhookSecret();
    // Locks the user, so that concurrent requests cannot exceed the limit.
    const created = await changeOfUser(this.dataSource, userId, async (manager) => {
      const existing = await queryRows(
        manager,
        'SELECT FROM webhooks WHERE user_id = $1 AND deleted_at IS NULL',
        [userId],
      );
      if (existing.length >= maxPerUser) throw new TooManyWebhooks(maxPerUser);
      await holdPublishing(manager);
      const webhook = await queryRow<WebhookOut>(
        manager,
        `INSERT INTO webhooks (user_id, url, types, description, secret, since_position)
         SELECT user_id, $3, $4, $5, $6, ${LAST_POSITION} FROM (SELECT $2::bigint AS user_id) AS webhooks
         RETURNING ${SHOWN}`,
        [this.clock.now(), userId, address, types, description, secret],
      );
      if (!(await isBlocked(manager, userId, address))) return webhook;
      await disableWebhook(manager, webhook.id, 'operator');
      return this.get(userId, webhook.id, manager);
    });
    return Object.assign(created, { secret });
  }

  list(userId: number, page: PageRequest): Promise<Page<WebhookOut>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<WebhookOut>(
        this.dataSource,
        `SELECT ${SHOWN} FROM webhooks
            WHERE user_id = $2 AND id > $3 AND deleted_at IS NULL ORDER BY id LIMIT $4`,
        [this.clock.now(), userId, cursor ?? 0, limit],
      ),
    );
  }

  /** @throws WebhookNotFound */
  async get(userId: number, id: number, queryable: Queryable = this.dataSource): Promise<WebhookOut> {
    const [webhook] = await queryRows<WebhookOut>(
      queryable,
      `SELECT ${SHOWN} FROM webhooks WHERE user_id = $2 AND id = $3 AND deleted_at IS NULL`,
      [this.clock.now(), userId, id],
    );
    if (!webhook) throw new WebhookNotFound();
    return webhook;
  }

  /** @throws WebhookNotFound, WebhookNeedsHttps, WebhookUrlRefused, WebhookDisabledByOperator */
  change(userId: number, id: number, change: ChangedWebhookRequest): Promise<WebhookOut> {
    const { types, description, enabled } = change;
    const url = change.url === undefined ? null : this.readUrl(change.url);
    return changeOfUser(this.dataSource, userId, async (manager) => {
      if (types !== undefined || enabled === true) await holdPublishing(manager);
      const [webhook] = await queryRows<{ url: string; disabled_reason: DisabledReason | null }>(
        manager,
        `SELECT url, disabled_reason FROM webhooks WHERE user_id = $1 AND id = $2 AND deleted_at IS NULL
            FOR NO KEY UPDATE`,
        [userId, id],
      );
      if (!webhook) throw new WebhookNotFound();
      const blocked = await isBlocked(manager, userId, url ?? webhook.url);
      if (enabled === true && (blocked || webhook.disabled_reason === 'operator')) {
        throw new WebhookDisabledByOperator();
      }
      await queryRows(
        manager,
        `UPDATE webhooks
            SET url = coalesce($3, url),
                paused_until = CASE WHEN $3 IS NULL THEN paused_until END,
                -- The receiver at the new URL has not failed yet.
                failing_since = CASE WHEN $3 <> url THEN NULL ELSE failing_since END,
                failures_in_a_row = CASE WHEN $3 <> url THEN 0 ELSE failures_in_a_row END,
                types = CASE WHEN $4 THEN $5 ELSE types END,
                since_position = CASE WHEN $4 THEN ${LAST_POSITION} ELSE since_position END,
                description = CASE WHEN $6 THEN $7 ELSE description END
          WHERE user_id = $1 AND id = $2`,
        [userId, id, url, types !== undefined, types ?? null, description !== undefined, description ?? null],
      );
      if (enabled === true) await enableWebhook(manager, id);
      if (enabled === false) await disableWebhook(manager, id, 'customer');
      if (blocked && url !== null) await disableWebhook(manager, id, 'operator');
      return this.get(userId, id, manager);
    });
  }

  /** Retention removes the deliveries later. @throws WebhookNotFound */
  async delete(userId: number, id: number): Promise<void> {
    const deleted = await inQueueOf(userId, () =>
      queryRows(
        this.dataSource,
        `UPDATE webhooks
          SET deleted_at = now(), disabled_at = coalesce(disabled_at, now()), disabled_reason = 'deleted',
              url = '', secret = NULL, previous_secret = NULL, previous_secret_until = NULL
        WHERE user_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING id`,
        [userId, id],
      ),
    );
    if (deleted.length === 0) throw new WebhookNotFound();
  }

  /** Removes some deliveries of a deleted webhook, or the webhook itself if no deliveries are left. */
  forgetDeleted(): Promise<RetentionStep<number>> {
    return queryRow<RetentionStep<number>>(
      this.dataSource,
      `WITH webhook AS (
         SELECT id FROM webhooks WHERE deleted_at IS NOT NULL ORDER BY id LIMIT 1
       ), sent AS MATERIALIZED (
         SELECT delivery.id FROM webhook JOIN webhook_deliveries delivery ON delivery.webhook_id = webhook.id
          ORDER BY delivery.id LIMIT $1
       ), forgotten AS (
         DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(SELECT id FROM sent))
       ), removed AS (
         DELETE FROM webhooks
          WHERE id = (SELECT id FROM webhook) AND NOT EXISTS (SELECT FROM sent) RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT id FROM webhook) AS next`,
      [STEP_ROWS],
    );
  }

  /**
   * The current secret stays valid for `overlapHours`; an older one expires at once.
   * @throws WebhookNotFound
   */
  async renewSecret(userId: number, id: number, overlapHours: number): Promise<NewSecret> {
    const secret = generateWebhookSecret();
    const until = overlapHours === 0 ? null : new Date(this.clock.now().getTime() + overlapHours * HOUR_MS);
    const changed = await inQueueOf(userId, () =>
      queryRows(
        this.dataSource,
        `UPDATE webhooks
          SET secret = $3, previous_secret = CASE WHEN $4::timestamptz IS NOT NULL THEN secret END,
              previous_secret_until = $4
        WHERE user_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING id`,
        [userId, id, secret, until],
      ),
    );
    if (changed.length === 0) throw new WebhookNotFound();
    return { secret, previous_secret_until: until };
  }

  /** @throws WebhookNotFound */
  async listAttempts(userId: number, id: number, page: PageRequest): Promise<Page<AttemptOut>> {
    await this.get(userId, id);
    return readPage(page, ({ cursor, limit }) =>
      queryRows<AttemptOut>(
        this.dataSource,
        `SELECT attempt.id, attempt.at, 'evt_' || event.position AS event_id, event.type AS event_type,
                  attempt.status, attempt.duration_ms, attempt.response,
                  attempt.error, delivery.state, delivery.next_attempt_at
             FROM webhook_attempts attempt
             JOIN webhook_deliveries delivery ON delivery.id = attempt.delivery_id
             JOIN events event ON event.id = delivery.event_id AND event.user_id = $1
            WHERE attempt.webhook_id = $2 AND attempt.id < $3 ORDER BY attempt.id DESC LIMIT $4`,
        [userId, id, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      ),
    );
  }

  /** Returns the URL in its canonical spelling. @throws WebhookNeedsHttps, WebhookUrlRefused */
  private readUrl(text: string): string {
    const { href, protocol } = new URL(text);
    if (protocol !== 'https:' && !this.config.webhooks.allowHttp) throw new WebhookNeedsHttps();
    try {
      this.addresses.checkUrl(href);
    } catch (error) {
      throw error instanceof AddressRefused ? new WebhookUrlRefused(error.message) : error;
    }
    return href;
  }
}
