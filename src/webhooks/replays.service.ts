import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows, violatedConstraint } from '../database';
import { eventIdOf, positionOf } from '../events';
import { RequestLimits, RequestsUnderWay } from '../http';
import type { ReplayedOut } from './dto/webhook-out.dto';
import type { ReplayRequest } from './dto/webhook.request';
import { EventNotFound, InvalidReplay, ReplayedEventsGone, WebhookDisabled } from './webhooks.errors';
import { WebhooksService } from './webhooks.service';

export const MAX_REPLAYED_EVENTS = 10_000;

interface Replayed {
  readonly replayed: number;
  readonly found: number;
  /** Position of the last replayed event; null if all events were replayed. */
  readonly last: number | null;
}

/**
 * Queues the events of the CTE `chosen (id, position)` for the webhook `$1`, and ends the webhook's pause.
 */
const REPLAY = `
  at_once AS (
    UPDATE webhooks SET paused_until = NULL WHERE id = $1 AND paused_until IS NOT NULL
  ), replayed AS (
    INSERT INTO webhook_deliveries AS delivery (webhook_id, event_id)
    SELECT $1, id FROM chosen ORDER BY position LIMIT ${MAX_REPLAYED_EVENTS}
    ON CONFLICT (event_id, webhook_id) DO UPDATE
       SET state = 'pending', attempts = 0, next_attempt_at = now(), lease_until = NULL, closed_at = NULL
     WHERE delivery.lease_until IS NULL OR delivery.lease_until < now()
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM replayed) AS replayed, (SELECT count(*) FROM chosen) AS found,
         (SELECT last.position FROM chosen AS last
           WHERE (SELECT count(*) FROM chosen) > ${MAX_REPLAYED_EVENTS}
           ORDER BY position OFFSET ${MAX_REPLAYED_EVENTS - 1} LIMIT 1) AS last`;

@Injectable()
export class ReplaysService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly webhooks: WebhooksService,
    private readonly underWay: RequestsUnderWay,
    private readonly limits: RequestLimits,
  ) {}

  /**
   * @throws WebhookNotFound, WebhookDisabled, InvalidReplay, EventNotFound, ReplayedEventsGone,
   * TooManyUnderWay
   */
  async replay(userId: number, webhookId: number, replay: ReplayRequest): Promise<ReplayedOut> {
    const { event_id: eventId, since, after } = replay;
    if ((eventId === null) === (since === null) || (since === null && after !== null)) {
      throw new InvalidReplay();
    }
    await this.assertIsOn(userId, webhookId);
    const [outcome] = await this.underWay
      .run('replay', userId, () =>
        eventId === null
          ? this.replaySince(userId, webhookId, replay)
          : this.replayOne(userId, webhookId, positionOf(eventId)),
      )
      .catch((error: unknown) => {
        // Retention removed one of the events after the statement had chosen it.
        if (violatedConstraint(error) === 'webhook_deliveries_event_id_fkey') throw new ReplayedEventsGone();
        throw error;
      });
    if (!outcome || (eventId !== null && outcome.found === 0)) throw new EventNotFound();
    return { replayed: outcome.replayed, next_after: outcome.last === null ? null : eventIdOf(outcome.last) };
  }

  /** @throws WebhookNotFound, WebhookDisabled, TooManyRequests */
  async test(userId: number, webhookId: number): Promise<void> {
    await this.assertIsOn(userId, webhookId);
    this.limits.admitWebhookTest(userId);
    await queryRows(
      this.dataSource,
      `WITH at_once AS (
         UPDATE webhooks SET paused_until = NULL
          WHERE user_id = $1 AND id = $2 AND disabled_at IS NULL RETURNING id, user_id
       )
       SELECT log_event(user_id, 'test', jsonb_build_object('webhook_id', id)) FROM at_once`,
      [userId, webhookId],
    );
  }

  private replayOne(userId: number, webhookId: number, position: number | null) {
    return queryRows<Replayed>(
      this.dataSource,
      `WITH chosen AS MATERIALIZED (
         SELECT id, position FROM events
          WHERE user_id = $2 AND position = $3
            AND webhook_takes($1, NULL, type, data)
       ), ${REPLAY}`,
      [webhookId, userId, position],
    );
  }

  private replaySince(userId: number, webhookId: number, request: ReplayRequest) {
    const { since, after, include_delivered: includeDelivered } = request;
    return queryRows<Replayed>(
      this.dataSource,
      `WITH chosen AS MATERIALIZED (
         SELECT event.id, event.position
           FROM events event JOIN webhooks webhook ON webhook.id = $1 AND webhook.user_id = event.user_id
          WHERE event.user_id = $2 AND event.position > $5 AND event.at >= $3 AND event.type <> 'test'
            AND webhook_takes(webhook.id, webhook.types, event.type, event.data)
            AND NOT EXISTS (SELECT FROM webhook_deliveries delivery
                             WHERE delivery.event_id = event.id AND delivery.webhook_id = $1
                               AND (delivery.state = 'pending' OR (delivery.state = 'delivered' AND NOT $4)))
          ORDER BY event.position LIMIT ${MAX_REPLAYED_EVENTS + 1}
       ), ${REPLAY}`,
      [webhookId, userId, since, includeDelivered, positionOf(after ?? '') ?? 0],
    );
  }

  private async assertIsOn(userId: number, webhookId: number): Promise<void> {
    const { enabled } = await this.webhooks.get(userId, webhookId);
    if (!enabled) throw new WebhookDisabled();
  }
}
