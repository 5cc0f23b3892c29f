import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { messageOf, type Moment, SERVICE_VERSION, SystemClock } from '../../common';
import { AppConfig } from '../../config';
import { Notifier } from '../../database';
import { EVENTS_CHANNEL, toPublishedEvent } from '../../events';
import { Jobs } from '../../jobs';
import { Metrics } from '../../metrics';
import { annotateSpan, inSpan } from '../../tracing';
import { AddressRules } from '../addresses';
import { signatureHeader } from '../signing';
import { type ClaimedDelivery, DeliveryQueue } from './delivery-queue';
import { ATTEMPT_TAKES_MS, CLAIM_TAKES_MS, SETTLING_TAKES_MS } from './delivery-times';
import { type SendResult, WebhookSender } from './webhook-sender';

/** Polling finds deliveries to be retried. New events need no polling: notifications announce them. */
const LOOK_EVERY_MS = 1000;
/** Limits how much memory a replica's sockets use. */
const ATTEMPTS_AT_ONCE = 64;
const LONGEST_PAUSE_OF_SETTLING_MS = 2000;

const WAITING = `
  SELECT count(*)::integer AS count,
         min(next_attempt_at) FILTER (WHERE failing_since IS NULL AND next_attempt_at <= now()) AS oldest
    FROM webhooks JOIN webhook_deliveries ON webhook_id = webhooks.id
   WHERE disabled_at IS NULL AND state = 'pending'`;

interface Attempt extends ClaimedDelivery {
  /** Time just before the claim, so the lease began no earlier. */
  readonly since: Moment;
}

/** After a lease ends, any replica may resend the delivery: events can be sent twice, but are never lost. */
@Injectable()
export class DeliveryService implements OnModuleDestroy {
  private readonly logger = new Logger(DeliveryService.name);
  private readonly sender: WebhookSender;
  /** Leases also expire while the system is suspended, when `performance.now()` would stop counting. */
  private readonly clock = new SystemClock();

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly metrics: Metrics,
    { tuning, webhooks }: AppConfig,
    notifier: Notifier,
    jobs: Jobs,
  ) {
    const { webhookAttemptsAtOnce: attemptsAtOnce = ATTEMPTS_AT_ONCE, webhookTimeoutMs = ATTEMPT_TAKES_MS } =
      tuning;
    this.sender = new WebhookSender(new AddressRules(webhooks.allowedNetworks), webhookTimeoutMs);
    jobs.due<Attempt>({
      name: 'send-webhooks',
      lookEveryMs: LOOK_EVERY_MS,
      atOnce: attemptsAtOnce,
      waiting: WAITING,
      isDue: () =>
        `EXISTS (SELECT FROM webhook_deliveries WHERE state = 'pending' AND next_attempt_at <= now())`,
      listen: (wake) => notifier.listen(EVENTS_CHANNEL, (users) => users && wake()),
      execute: (attempt, cutOff) => this.execute(attempt, cutOff),
      claim: async (capacity, underWay) => {
        const since = this.clock.moment();
        // Half of all attempts are reserved for webhooks that are neither failing nor busy with a delivery.
        const further = [...underWay].filter(({ isFurther }) => isFurther).length;
        const capacityForFurther = Math.max(0, Math.floor(attemptsAtOnce / 2) - further);
        const claimed = await this.queue.claim(capacity, capacityForFurther);
        return {
          rows: claimed.map((delivery) => ({ ...delivery, since })),
          isMore: claimed.length === capacity,
        };
      },
    });
  }

  onModuleDestroy(): void {
    this.sender.close();
  }

  private async execute(attempt: Attempt, cutOff: AbortSignal): Promise<void> {
    // The claim took too long, or the process was suspended. Skip the attempt, because the lease might end
    // during it.
    if (attempt.since.elapsedMs() > CLAIM_TAKES_MS) return;
    await inSpan('webhooks.attempt', { 'webhook.id': attempt.webhookId }, async () => {
      const result = await this.send(attempt, cutOff);
      const { outcome, status, durationMs } = result;
      annotateSpan({
        'webhook.outcome': outcome,
        ...(status !== null && { 'http.response.status_code': status }),
      });
      this.metrics.count('webhook_attempts_total', { outcome });
      this.metrics.observe('webhook_attempt_duration_seconds', {}, durationMs / 1000);
      await this.settle(attempt, result);
    });
  }

  private send(delivery: ClaimedDelivery, cutOff: AbortSignal): Promise<SendResult> {
    const event = toPublishedEvent(delivery);
    const body = JSON.stringify(event);
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': `proxy-rental-service/${SERVICE_VERSION}`,
      'webhook-id': event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureHeader(delivery, event.id, timestamp, body),
    };
    return this.sender.post(delivery.url, body, headers, cutOff);
  }

  /** Retries are safe, because recording is idempotent. */
  private async settle(delivery: ClaimedDelivery, result: SendResult): Promise<void> {
    const giveUpAtMs = performance.now() + SETTLING_TAKES_MS;
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_OF_SETTLING_MS)) {
      try {
        const disabledReason = await this.queue.settle(delivery, result);
        if (disabledReason !== null) this.logDisabled(delivery, disabledReason);
        return;
      } catch (error) {
        if (performance.now() + pauseMs > giveUpAtMs) throw error;
        this.logger.debug(`retrying to save the result of an attempt: ${messageOf(error)}`);
        await pause(pauseMs);
      }
    }
  }

  private logDisabled({ webhookId, userId, url }: ClaimedDelivery, reason: 'failing' | 'gone'): void {
    const why = reason === 'gone' ? 'its receiver is gone' : 'it has failed for too long';
    this.logger.warn(`webhook ${webhookId} of user ${userId} is disabled: ${why}: ${new URL(url).host}`);
  }
}
