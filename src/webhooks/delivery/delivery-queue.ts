import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { preparedRows, queryRows } from '../../database';
import type { PublishedEvent, EventType } from '../../events';
import { RetryClockCorrection } from '../../jobs';
import type { SigningSecrets } from '../signing';
import {
  ATTEMPT_TAKES_MS,
  FAILURES_UNTIL_PAUSED,
  leaseMs,
  pauseOfDelivery,
  PAUSES_SECONDS,
  pausesOfWebhook,
  requestedPause,
  USUAL_RETRY_SECONDS,
} from './delivery-times';
import type { SendResult } from './webhook-sender';

const GONE = 410;
const LONGEST_WEBHOOK_PAUSE_SECONDS = requestedPause(Infinity, USUAL_RETRY_SECONDS);

/**
 * Maximum number of concurrent attempts per webhook, by all replicas combined. The limit for all of a user's
 * webhooks combined is twice as high.
 */
const ATTEMPTS_PER_WEBHOOK = 8;

/** A delivery that this replica may send until its lease ends. */
export interface ClaimedDelivery extends SigningSecrets {
  readonly id: number;
  readonly webhookId: number;
  readonly userId: number;
  readonly url: string;
  /** Number of failed attempts. */
  readonly attempts: number;
  /** End of the lease; also identifies the lease. A string, because a Date would drop the microseconds. */
  readonly lease: string;
  /** Whether the webhook is failing, or another delivery to it is already in progress. */
  readonly isFurther: boolean;
  readonly position: number;
  readonly type: EventType;
  readonly at: Date;
  readonly data: PublishedEvent['data'];
}

/**
 * Claims deliveries of all webhooks in turn: the first event of each webhook comes before any second event.
 * `waiting` reads only one index entry per webhook. `chosen` reserves capacity for webhooks that are neither
 * failing nor busy with a delivery. If several replicas claim at the same moment, the limits may be exceeded.
 */
const CLAIM = `
  WITH RECURSIVE waiting AS (
    (SELECT webhook_id FROM webhook_deliveries WHERE state = 'pending'
      ORDER BY webhook_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT (SELECT delivery.webhook_id FROM webhook_deliveries delivery
             WHERE state = 'pending' AND delivery.webhook_id > waiting.webhook_id
             ORDER BY delivery.webhook_id, delivery.next_attempt_at LIMIT 1)
      FROM waiting WHERE webhook_id IS NOT NULL
  ), busy AS MATERIALIZED (
    SELECT webhook.id, webhook.user_id, webhook.disabled_at, webhook.paused_until,
           webhook.failures_in_a_row >= $3 AS fails,
           (SELECT count(*) FROM webhook_deliveries delivery
             WHERE delivery.webhook_id = webhook.id
               AND lease_until IS NOT NULL AND lease_until > now()) AS busy
      FROM waiting,
           LATERAL (SELECT * FROM webhooks WHERE id = waiting.webhook_id LIMIT 1) AS webhook
  ), open AS (
    SELECT id, user_id, fails, busy, (SELECT sum(all_of.busy) FROM busy all_of
                                       WHERE all_of.user_id = busy.user_id) AS user_busy
      FROM busy
     WHERE disabled_at IS NULL
       AND (paused_until IS NULL OR paused_until <= now()
            -- Ignore a pause that was set while the database's clock was ahead.
            OR paused_until > now() + interval '${LONGEST_WEBHOOK_PAUSE_SECONDS} seconds')
  ), due AS (
    SELECT delivery.id, delivery.next_attempt_at, open.user_id, open.user_busy, open.fails,
           open.busy + row_number() OVER (PARTITION BY open.id
                                          ORDER BY delivery.next_attempt_at, delivery.id) AS turn
      FROM open CROSS JOIN LATERAL (
        SELECT id, next_attempt_at FROM webhook_deliveries
         WHERE webhook_id = open.id AND state = 'pending' AND next_attempt_at <= now()
         ORDER BY next_attempt_at, id
         LIMIT greatest(CASE WHEN open.fails THEN 1 ELSE $4::integer END - open.busy, 0)
      ) AS delivery
  ), fair AS (
    SELECT id, next_attempt_at, fails OR turn > 1 AS is_further,
           user_busy + row_number() OVER (PARTITION BY user_id
                                          ORDER BY fails, turn, next_attempt_at, id) AS turn
      FROM due
  ), chosen AS (
    SELECT id, is_further
      FROM (SELECT id, next_attempt_at, is_further, turn,
                   row_number() OVER (PARTITION BY is_further ORDER BY turn, next_attempt_at, id) AS place
              FROM fair WHERE turn <= 2 * $4::integer) AS placed
     WHERE place <= CASE WHEN is_further THEN $2::integer ELSE $1::integer END
     ORDER BY is_further, turn, next_attempt_at, id LIMIT $1
  ), taken AS (
    SELECT delivery.id FROM webhook_deliveries delivery
     WHERE delivery.id = ANY (ARRAY(SELECT id FROM chosen)) AND state = 'pending' AND next_attempt_at <= now()
       FOR UPDATE SKIP LOCKED
  ), leased AS (
    UPDATE webhook_deliveries delivery
       SET lease_until = now() + make_interval(secs => $5),
           next_attempt_at = now() + make_interval(secs => $5)
     WHERE delivery.id = ANY (ARRAY(SELECT id FROM taken))
    RETURNING delivery.id, delivery.webhook_id, delivery.event_id, delivery.attempts, delivery.lease_until
  )
  SELECT leased.id, leased.attempts, leased.lease_until::text AS lease, chosen.is_further AS "isFurther",
         webhook.id AS "webhookId", webhook.user_id AS "userId", webhook.url, webhook.secret,
         webhook.previous_secret AS "previousSecret",
         webhook.previous_secret_until AS "previousSecretUntil",
         event.position, event.type, event.at, event.data
    FROM leased
    JOIN chosen ON chosen.id = leased.id
    JOIN webhooks webhook ON webhook.id = leased.webhook_id
    JOIN events event ON event.id = leased.event_id`;

/**
 * Records an attempt. Idempotent, and does nothing once the lease is lost. If the webhook's URL has been
 * replaced since, the result does not affect the webhook. Parameters: $1 delivery, $2 lease, $3 status, $4
 * duration (ms), $5 response body, $6 error, $7 state, $8 pause (s), $9 result (delivered, failed or
 * neither), $10 the webhook's pauses after one failure, two in a row and so on (s), $11 pause requested by
 * the receiver (s), $12 whether the receiver is gone, $13 time until the webhook is disabled (s), $14 URL
 */
const SETTLE = `
  WITH mine AS (
    SELECT id, webhook_id FROM webhook_deliveries WHERE id = $1 AND lease_until = $2::timestamptz FOR UPDATE
  ), attempt AS (
    INSERT INTO webhook_attempts (delivery_id, webhook_id, at, status, duration_ms, response, error)
    SELECT id, webhook_id, now() - make_interval(secs => $4 / 1000.0), $3, $4, $5, $6 FROM mine
  ), settled AS (
    UPDATE webhook_deliveries delivery
       SET state = $7, lease_until = NULL,
           attempts = attempts + CASE WHEN $9 = 'neither' THEN 0 ELSE 1 END,
           next_attempt_at = CASE WHEN $7 = 'pending' THEN now() + make_interval(secs => $8) END,
           closed_at = CASE WHEN $7 <> 'pending' THEN now() END
      FROM mine WHERE delivery.id = mine.id
  ), recovered AS (
    UPDATE webhooks webhook SET failures_in_a_row = 0, failing_since = NULL, paused_until = NULL
      FROM mine
     WHERE webhook.id = mine.webhook_id AND webhook.url = $14 AND $9 = 'delivered'
       AND (failures_in_a_row > 0 OR failing_since IS NOT NULL)
  ), failed AS (
    UPDATE webhooks webhook
       SET failures_in_a_row = failures_in_a_row + 1,
           failing_since = coalesce(failing_since, now()),
           paused_until = now() + make_interval(secs => greatest(
             $11, ($10::float8[])[least(failures_in_a_row + 1, array_length($10::float8[], 1))])),
           disabled_at = CASE WHEN disabled_at IS NOT NULL THEN disabled_at
                              WHEN $12 OR failing_since <= now() - make_interval(secs => $13) THEN now() END,
           disabled_reason = CASE WHEN disabled_at IS NOT NULL THEN disabled_reason
                                  WHEN $12 THEN 'gone'
                                  WHEN failing_since <= now() - make_interval(secs => $13) THEN 'failing' END
      FROM mine
     WHERE webhook.id = mine.webhook_id AND webhook.url = $14 AND $9 = 'failed'
    RETURNING webhook.disabled_at, webhook.disabled_reason
  )
  SELECT failed.disabled_reason AS "disabledReason"
    FROM mine LEFT JOIN failed ON failed.disabled_at = now()`;

@Injectable()
export class DeliveryQueue {
  private readonly retrySeconds: number;
  private readonly attemptsPerWebhook: number;
  private readonly leaseSeconds: number;
  private readonly pausesOfWebhook: readonly number[];

  constructor(
    private readonly dataSource: DataSource,
    config: AppConfig,
    clockCorrection: RetryClockCorrection,
  ) {
    const { tuning } = config;
    this.retrySeconds = tuning.webhookRetrySeconds ?? USUAL_RETRY_SECONDS;
    this.attemptsPerWebhook = tuning.webhookAttemptsPerWebhook ?? ATTEMPTS_PER_WEBHOOK;
    this.leaseSeconds = leaseMs(tuning.webhookTimeoutMs ?? ATTEMPT_TAKES_MS) / 1000;
    this.pausesOfWebhook = pausesOfWebhook(this.retrySeconds);
    const requested = requestedPause(Infinity, this.retrySeconds);
    const longestPauses = [0, ...PAUSES_SECONDS].map(
      (_, attempts) => pauseOfDelivery(attempts, this.retrySeconds, requested, () => 1) ?? requested,
    );
    clockCorrection.add({
      table: 'webhook_deliveries',
      column: 'next_attempt_at',
      where: `state = 'pending' AND lease_until IS NULL
              AND next_attempt_at > now() + interval '${requested} seconds'
              AND webhook_id IN (SELECT id FROM webhooks WHERE disabled_at IS NULL)`,
      longestPause: `make_interval(secs => ('{${longestPauses.join()}}'::float8[])[attempts + 1])`,
    });
  }

  /** @param further maximum number of deliveries to webhooks that are busy or failing */
  claim(limit: number, further: number): Promise<ClaimedDelivery[]> {
    return preparedRows<ClaimedDelivery>(this.dataSource, CLAIM, [
      limit,
      further,
      FAILURES_UNTIL_PAUSED,
      this.attemptsPerWebhook,
      this.leaseSeconds,
    ]);
  }

  /** @returns why the attempt disabled the webhook; null if it did not */
  async settle(delivery: ClaimedDelivery, result: SendResult): Promise<'failing' | 'gone' | null> {
    const { retrySeconds } = this;
    const isCutOff = result.outcome === 'cut-off';
    const isDelivered = result.outcome === 'delivered';
    const requestedSeconds = requestedPause(result.retryAfterSeconds, retrySeconds);
    const pause = isCutOff ? 0 : pauseOfDelivery(delivery.attempts + 1, retrySeconds, requestedSeconds);
    const happened = isCutOff ? 'neither' : isDelivered ? 'delivered' : 'failed';
    const unsent = pause === null ? 'failed' : 'pending';
    const [settled] = await queryRows<{ disabledReason: 'failing' | 'gone' | null }>(
      this.dataSource,
      SETTLE,
      [
        delivery.id,
        delivery.lease,
        result.status,
        result.durationMs,
        result.response,
        result.error,
        isDelivered ? 'delivered' : unsent,
        pause ?? 0,
        happened,
        this.pausesOfWebhook,
        requestedSeconds,
        result.status === GONE,
        retrySeconds,
        delivery.url,
      ],
    );
    return settled?.disabledReason ?? null;
  }
}
