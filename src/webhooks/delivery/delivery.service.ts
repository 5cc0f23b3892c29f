import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs, messageOf, type Moment, SERVICE_VERSION, SystemClock } from '../../common';
import { AppConfig } from '../../config';
import { PublishedEvents, toEventOut } from '../../events';
import { Metrics } from '../../metrics';
import { inSpan, noteInSpan } from '../../tracing';
import { AddressRules } from '../addresses';
import { signatureHeader } from '../signing';
import { type ClaimedDelivery, DeliveryQueue, type SettledDelivery } from './delivery-queue';
import { ATTEMPT_TAKES_MS, CLAIM_TAKES_MS, SETTLING_TAKES_MS } from './delivery-times';
import { type SendResult, WebhookSender } from './webhook-sender';

/** New events are told by a hint as a rule. What is sent again is found by looking. */
const LOOK_EVERY_MS = 250;
/** Attempts that end at about the same time make room for one claim together. */
const LOOK_AFTER_MS = 25;
/** Of a replica; each has a socket, and its memory is bounded by them. */
const ATTEMPTS_AT_ONCE = 64;
/** While the database is away, a failure is not logged four times a second. */
const PAUSE_AFTER_FAILURE_MS = 2000;
const LONGEST_PAUSE_OF_SETTLING_MS = 2000;
/** How long a replica that stops waits for attempts, and then for what came of those that it cut off. */
const STOP_MS = 5000;

/**
 * Sends events to webhooks, on every replica. What a replica claims is its own until the lease ends. One that
 * dies leaves it to the others, so that an event may come twice and is never lost. Nothing is sent inside a
 * transaction.
 */
@Injectable()
export class DeliveryService implements OnApplicationBootstrap {
  private readonly logger = new Logger(DeliveryService.name);
  private readonly sender: WebhookSender;
  private readonly attemptsAtOnce: number;
  /** On the machine's own clock: a lease passes while a process is suspended. */
  private readonly clock = new SystemClock();
  private readonly underWay = new Map<Promise<void>, { readonly isFurther: boolean }>();
  private readonly cutOff = new AbortController();
  private looking: Promise<void> | undefined;
  private isAskedAgain = false;
  private nextLook: NodeJS.Timeout | undefined;
  private notBeforeMs = -Infinity;
  private isStopping = false;

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly published: PublishedEvents,
    private readonly jobs: Jobs,
    config: AppConfig,
    private readonly metrics: Metrics,
  ) {
    const { webhookAttemptsAtOnce = ATTEMPTS_AT_ONCE, webhookTimeoutMs = ATTEMPT_TAKES_MS } = config.tuning;
    this.attemptsAtOnce = webhookAttemptsAtOnce;
    this.sender = new WebhookSender(new AddressRules(config.webhooks.allowedNetworks), webhookTimeoutMs);
  }

  onApplicationBootstrap(): void {
    if (this.attemptsAtOnce === 0) return;
    this.published.listen(() => this.lookSoon(0));
    this.jobs.every('send-webhooks', LOOK_EVERY_MS, () => this.look());
  }

  /**
   * Claims nothing more, waits some seconds for the attempts under way, and cuts off those that last longer:
   * another replica makes them again.
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.nextLook);
    await this.untilIdle(STOP_MS);
    this.cutOff.abort();
    await this.untilIdle(STOP_MS);
    this.sender.close();
  }

  /** Claims what is due and begins to send it, as far as there is room. */
  private look(): Promise<void> {
    this.isAskedAgain = this.looking !== undefined;
    this.looking ??= this.claimAll().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /** The job logs when it fails, too. */
  private lookSoon(afterMs: number): void {
    if (this.nextLook || this.isStopping) return;
    this.nextLook = setTimeout(() => {
      this.nextLook = undefined;
      this.look().catch((error: unknown) => this.logger.debug(`nothing was claimed: ${messageOf(error)}`));
    }, afterMs);
  }

  private async claimAll(): Promise<void> {
    if (performance.now() < this.notBeforeMs) return;
    try {
      do {
        this.isAskedAgain = false;
        const room = this.attemptsAtOnce - this.underWay.size;
        if (room <= 0 || this.isStopping) return;
        const since = this.clock.moment();
        const claimed = await this.queue.claim(room, this.roomForFurther());
        for (const delivery of claimed) this.begin(delivery, since);
        if (claimed.length === room) this.isAskedAgain = true;
      } while (this.isAskedAgain);
    } catch (error) {
      this.notBeforeMs = performance.now() + PAUSE_AFTER_FAILURE_MS;
      throw error;
    }
  }

  /** Half of all attempts: the other half is for webhooks to which nothing is under way. */
  private roomForFurther(): number {
    const taken = [...this.underWay.values()].filter(({ isFurther }) => isFurther).length;
    return Math.max(0, Math.floor(this.attemptsAtOnce / 2) - taken);
  }

  private begin(delivery: ClaimedDelivery, since: Moment): void {
    const attempt = this.attempt(delivery, since)
      .catch((error: unknown) => this.logger.error(`an attempt failed: ${messageOf(error)}`))
      .finally(() => {
        this.underWay.delete(attempt);
        this.lookSoon(LOOK_AFTER_MS);
      });
    this.underWay.set(attempt, delivery);
  }

  /** @param since before the claim: its lease cannot have begun earlier */
  private async attempt(delivery: ClaimedDelivery, since: Moment): Promise<void> {
    // The process was suspended, or the database's answer was late: the lease might end during the attempt.
    if (since.elapsedMs() > CLAIM_TAKES_MS) return;
    await inSpan('webhooks.attempt', { 'webhook.id': delivery.webhookId }, async () => {
      const result = await this.send(delivery);
      const { outcome, status, durationMs } = result;
      noteInSpan({
        'webhook.outcome': outcome,
        ...(status !== null && { 'http.response.status_code': status }),
      });
      this.metrics.count('webhook_attempts_total', { outcome });
      this.metrics.observe('webhook_attempt_duration_seconds', {}, durationMs / 1000);
      await this.settle(delivery, result);
    });
  }

  private async send(delivery: ClaimedDelivery): Promise<SendResult> {
    const event = toEventOut(delivery);
    const body = JSON.stringify(event);
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': `proxy-rental-service/${SERVICE_VERSION}`,
      'webhook-id': event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureHeader(delivery, event.id, timestamp, body),
    };
    return this.sender.post(delivery.url, body, headers, this.cutOff.signal);
  }

  /** A statement whose answer was lost is sent again: it changes nothing the second time. */
  private async settle(delivery: ClaimedDelivery, result: SendResult): Promise<void> {
    const giveUpAtMs = performance.now() + SETTLING_TAKES_MS;
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_OF_SETTLING_MS)) {
      try {
        this.tell(delivery, await this.queue.settle(delivery, result));
        return;
      } catch (error) {
        if (performance.now() + pauseMs > giveUpAtMs) throw error;
        this.logger.debug(`what came of an attempt is written again: ${messageOf(error)}`);
        await pause(pauseMs);
      }
    }
  }

  private tell({ webhookId, userId, url }: ClaimedDelivery, settled: SettledDelivery | null): void {
    if (!settled?.disabledReason) return;
    const why = settled.disabledReason === 'gone' ? 'its receiver is gone' : 'it has failed for too long';
    this.logger.warn(`webhook ${webhookId} of user ${userId} is switched off: ${why}: ${new URL(url).host}`);
  }

  private async untilIdle(longestMs: number): Promise<void> {
    const waiting = new AbortController();
    const { signal } = waiting;
    const tooLong = pause(longestMs, undefined, { signal }).catch(() => undefined);
    await Promise.race([this.idle(), tooLong]);
    waiting.abort();
  }

  private async idle(): Promise<void> {
    while (this.looking || this.underWay.size > 0) {
      await Promise.allSettled([this.looking, ...this.underWay.keys()]);
    }
  }
}
