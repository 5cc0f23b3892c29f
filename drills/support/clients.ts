import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const COUNTRIES = ['ru', 'us', 'de', 'nl'] as const;
const PROLONGED_SHARE = 0.35;
/** Longer than any response may take. */
const REQUEST_TIMEOUT_MS = 160_000;
/** A response may want longer pauses. */
const MAX_PAUSE_MS = 2000;

export interface Customer {
  readonly id: number;
  readonly token: string;
}

/** A request that is executed once under its key, however often the client sends it. */
export interface Intent {
  readonly customer: Customer;
  readonly key: string;
  readonly path: string;
  readonly body: { readonly period: number; readonly country?: string; readonly count?: number };
}

export interface ClientResponse {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly atMs: number;
}

export interface CompletedRequest {
  readonly intent: Intent;
  readonly response: ClientResponse;
}

export interface ClientsOptions {
  readonly pauseMs: number;
  readonly scriptsEach?: number;
  readonly prolongAgain?: boolean;
}

/** Scripts that buy and prolong, and retry until the response is final, as the documentation advises. */
export class Clients {
  readonly completed: CompletedRequest[] = [];
  readonly open = new Set<Intent>();
  readonly counts: Record<string, number> = {};
  longestResponseMs = 0;
  private readonly ended = new AbortController();
  private isAbandoned = false;
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly customers: readonly Customer[],
    private readonly baseUrls: readonly string[],
    private readonly options: ClientsOptions,
  ) {}

  start(): void {
    const { scriptsEach = 1 } = this.options;
    this.running = Promise.all(
      this.customers.flatMap((customer) => {
        const proxyIds: string[] = [];
        return Array.from({ length: scriptsEach }, () => this.runScript(customer, proxyIds));
      }),
    );
    this.running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  countCompleted(since: Date): number {
    return this.completed.filter(({ response }) => response.atMs > since.getTime()).length;
  }

  longestGapMs(fromMs: number, toMs: number): number {
    const moments = this.completed
      .map(({ response: { atMs } }) => atMs)
      .filter((atMs) => atMs > fromMs && atMs < toMs);
    const borders = [fromMs, ...moments, toMs];
    return Math.max(...borders.slice(1).map((moment, at) => moment - (borders[at] ?? moment)));
  }

  abandon(): void {
    this.ended.abort();
    this.isAbandoned = true;
  }

  async retry(intent: Intent): Promise<ClientResponse> {
    for (;;) {
      const { response, retryAfterMs } = await this.send(intent);
      if (response) return response;
      if (this.isAbandoned) throw new Error('the drill has ended before its orders returned');
      await pause(Math.min(retryAfterMs, MAX_PAUSE_MS) * (0.8 + 0.4 * Math.random()));
    }
  }

  async send({
    customer,
    key,
    path,
    body,
  }: Intent): Promise<{ response?: ClientResponse; retryAfterMs: number }> {
    const baseUrl = this.baseUrls[Math.floor(Math.random() * this.baseUrls.length)] ?? '';
    const sentAtMs = performance.now();
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
      const result = { status, body: (await response.json()) as Record<string, unknown>, atMs: Date.now() };
      const retryAfter = response.headers.get('Retry-After');
      if (status >= 500 || status === 429 || status === 409) {
        const how = retryAfter === null ? 'without Retry-After' : 'with Retry-After';
        const detail = String(result.body['detail']).replaceAll(/[0-9a-f-]{8,}|\d+/g, 'N');
        this.count(`${status} ${how}: ${detail}`);
        return { retryAfterMs: 1000 * Number(retryAfter ?? 1) };
      }
      const isReplay = response.headers.get('Idempotency-Replayed') === 'true';
      this.count(isReplay ? `${status}, replayed` : String(status));
      return { response: result, retryAfterMs: 0 };
    } catch {
      this.count('connection lost');
      return { retryAfterMs: 500 };
    } finally {
      this.longestResponseMs = Math.max(this.longestResponseMs, performance.now() - sentAtMs);
    }
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  private async runScript(customer: Customer, proxyIds: string[]): Promise<void> {
    const { pauseMs, prolongAgain = false } = this.options;
    while (!this.ended.signal.aborted) {
      const proxyId = Math.random() < PROLONGED_SHARE ? proxyIds.shift() : undefined;
      const country = COUNTRIES[Math.floor(Math.random() * COUNTRIES.length)] ?? 'ru';
      const intent = {
        customer,
        key: randomUUID(),
        ...(proxyId === undefined
          ? { path: '/proxies/buy', body: { country, period: 30, count: 1 + Math.floor(Math.random() * 3) } }
          : { path: `/proxies/${proxyId}/prolong`, body: { period: 30 } }),
      };
      this.open.add(intent);
      const response = await this.retry(intent);
      this.open.delete(intent);
      this.completed.push({ intent, response });
      for (const { id } of (response.body['proxies'] ?? []) as { id: string }[]) proxyIds.push(id);
      if (prolongAgain && proxyId !== undefined) proxyIds.push(proxyId);
      await pause(pauseMs * (0.5 + Math.random()));
    }
  }
}
