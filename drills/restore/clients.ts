import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const COUNTRIES = ['ru', 'us', 'de', 'nl'] as const;
const PROLONGED_SHARE = 0.35;
const REQUEST_TIMEOUT_MS = 60_000;

export interface Customer {
  readonly id: number;
  readonly token: string;
}

/** What a client wants once, under a key of its own, however often it has to ask. */
export interface Intent {
  readonly customer: Customer;
  readonly key: string;
  readonly path: string;
  readonly body: { readonly period: number; readonly country?: string; readonly count?: number };
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** As `Date.now()` tells it. */
  readonly atMs: number;
}

/**
 * Scripts that buy and prolong, one order after the other, and repeat each until its answer is final, as the
 * documentation tells them to.
 */
export class Clients {
  /** Orders with their final answers, in the order of the answers. */
  readonly answered: { readonly intent: Intent; readonly answer: Answer }[] = [];
  /** How often clients were answered what. */
  readonly counts: Record<string, number> = {};
  private readonly ended = new AbortController();
  private isAbandoned = false;
  private running: Promise<unknown> = Promise.resolve();
  private readonly proxyIds = new Map<Customer, string[]>();

  constructor(
    private readonly customers: readonly Customer[],
    private readonly baseUrls: readonly string[],
    private readonly pauseMs: number,
  ) {}

  start(): void {
    this.running = Promise.all(this.customers.map((customer) => this.runScript(customer)));
    // Reported by stop().
    this.running.catch(() => undefined);
  }

  /** Lets each script bring its present order to its end. */
  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  countAnswered(since: Date): number {
    return this.answered.filter(({ answer }) => answer.atMs > since.getTime()).length;
  }

  /** Ends everything: what is asked for is asked no more. */
  abandon(): void {
    this.ended.abort();
    this.isAbandoned = true;
  }

  /** Repeats an order until its answer is final. */
  async repeat(intent: Intent): Promise<Answer> {
    for (;;) {
      const { answer, retryAfterMs } = await this.send(intent);
      if (answer) return answer;
      if (this.isAbandoned) throw new Error('the drill has ended before its orders were answered');
      await pause(Math.min(retryAfterMs, 2000) * (0.8 + 0.4 * Math.random()));
    }
  }

  /** Sends an order once. An answer that is not final is counted only. */
  async send({ customer, key, path, body }: Intent): Promise<{ answer?: Answer; retryAfterMs: number }> {
    const baseUrl = this.baseUrls[Math.floor(Math.random() * this.baseUrls.length)] ?? '';
    try {
      const response = await fetch(baseUrl + path, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${customer.token}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': key,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const { status } = response;
      const answer = { status, body: (await response.json()) as Record<string, unknown>, atMs: Date.now() };
      const retryAfter = response.headers.get('Retry-After');
      const isFinal = status < 500 && status !== 429 && !(status === 409 && retryAfter !== null);
      this.count(
        response.headers.get('Idempotency-Replayed') === 'true'
          ? `${status}, replayed`
          : `${status}${status >= 500 && retryAfter === null ? ' without Retry-After' : ''}`,
      );
      return isFinal ? { answer, retryAfterMs: 0 } : { retryAfterMs: 1000 * Number(retryAfter ?? 1) };
    } catch {
      this.count('connection lost');
      return { retryAfterMs: 500 };
    }
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  private async runScript(customer: Customer): Promise<void> {
    const proxyIds = this.proxyIds.get(customer) ?? [];
    this.proxyIds.set(customer, proxyIds);
    while (!this.ended.signal.aborted) {
      // Each proxy is prolonged once: two prolongations that were forgotten are found as one of their length.
      const proxyId = Math.random() < PROLONGED_SHARE ? proxyIds.shift() : undefined;
      const country = COUNTRIES[Math.floor(Math.random() * COUNTRIES.length)] ?? 'ru';
      const intent = {
        customer,
        key: randomUUID(),
        ...(proxyId === undefined
          ? { path: '/proxies/buy', body: { country, period: 30, count: 1 + Math.floor(Math.random() * 3) } }
          : { path: `/proxies/${proxyId}/prolong`, body: { period: 30 } }),
      };
      const answer = await this.repeat(intent);
      this.answered.push({ intent, answer });
      for (const { id } of (answer.body['proxies'] ?? []) as { id: string }[]) proxyIds.push(id);
      await pause(this.pauseMs * (0.5 + Math.random()));
    }
  }
}
