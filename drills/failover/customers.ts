import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Customer } from './cluster';

const CLIENTS_PER_CUSTOMER = 2;
const COUNTRIES = ['ru', 'us', 'de', 'nl'] as const;
/** Longer than any answer may take. */
const REQUEST_TIMEOUT_MS = 160_000;

export interface Order {
  readonly customer: Customer;
  readonly key: string;
  readonly path: string;
  readonly body: object;
}

/** An order whose answer a client took for final. */
export interface Acknowledged {
  readonly order: Order;
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly atMs: number;
}

/** What clients were answered, and when. */
export class AnswerLog {
  readonly acknowledged: Acknowledged[] = [];
  /** By what an operator would ask: the status, and for 503 and 409 whether it came with `Retry-After`. */
  readonly counts = new Map<string, number>();
  readonly longestAnswerMs = { value: 0 };

  note(what: string, tookMs: number): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    this.longestAnswerMs.value = Math.max(this.longestAnswerMs.value, tookMs);
  }

  /** The longest time without an acknowledged order between the two moments. */
  longestGapMs(fromMs: number, toMs: number): number {
    const moments = this.acknowledged.map(({ atMs }) => atMs).filter((atMs) => atMs > fromMs && atMs < toMs);
    const borders = [fromMs, ...moments, toMs];
    return Math.max(...borders.slice(1).map((moment, at) => moment - (borders[at] ?? moment)));
  }

  countAcknowledged(sinceMs: number): number {
    return this.acknowledged.filter(({ atMs }) => atMs > sinceMs).length;
  }
}

/**
 * Scripts that buy and prolong through HAProxy, each order under a key of its own, and repeat an order until
 * its answer is final, as the documentation tells them to.
 */
export class Clients {
  readonly log = new AnswerLog();
  private readonly ended = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly cluster: Cluster,
    private readonly customers: readonly Customer[],
    private readonly pauseMs: number,
  ) {}

  start(): void {
    const scripts = this.customers.flatMap((customer) =>
      Array.from({ length: CLIENTS_PER_CUSTOMER }, () => this.runScript(customer)),
    );
    this.running = Promise.all(scripts);
    // Reported by stop().
    this.running.catch(() => undefined);
  }

  /** Lets each script bring its present order to its end. */
  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  private async runScript(customer: Customer): Promise<void> {
    const proxyIds: string[] = [];
    while (!this.ended.signal.aborted) {
      const proxyId =
        Math.random() < 0.35 ? proxyIds[Math.floor(Math.random() * proxyIds.length)] : undefined;
      const country = COUNTRIES[Math.floor(Math.random() * COUNTRIES.length)];
      const answer = await this.repeat({
        customer,
        key: randomUUID(),
        ...(proxyId === undefined
          ? { path: '/proxies/buy', body: { country, period: 30, count: 1 + Math.floor(Math.random() * 3) } }
          : { path: `/proxies/${proxyId}/prolong`, body: { period: 30 } }),
      });
      this.log.acknowledged.push(answer);
      for (const { id } of (answer.body['proxies'] ?? []) as { id: string }[]) proxyIds.push(id);
      await pause(this.pauseMs * (0.5 + Math.random()));
    }
  }

  private async repeat(order: Order): Promise<Acknowledged> {
    for (;;) {
      const sentAtMs = performance.now();
      const { what, retryAfterMs, final } = await this.send(order);
      this.log.note(what, performance.now() - sentAtMs);
      if (final) return { order, atMs: performance.now(), ...final };
      await pause(retryAfterMs * (0.8 + 0.4 * Math.random()));
    }
  }

  private async send(order: Order): Promise<{
    what: string;
    retryAfterMs: number;
    final?: { status: number; body: Record<string, unknown> };
  }> {
    try {
      const response = await fetch(this.cluster.serviceUrl + order.path, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${order.customer.token}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': order.key,
        },
        body: JSON.stringify(order.body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const { status } = response;
      const body = (await response.json()) as Record<string, unknown>;
      const retryAfter = response.headers.get('Retry-After');
      if (status === 409 || status === 429 || status >= 500) {
        const how = retryAfter === null ? 'without Retry-After' : 'with Retry-After';
        const detail = String(body['detail']);
        return {
          what: `${status} ${how}: ${detail.replaceAll(/[0-9a-f-]{8,}|\d+/g, 'N')}`,
          retryAfterMs: 1000 * Number(retryAfter ?? 1),
        };
      }
      const isReplay = response.headers.get('Idempotency-Replayed') === 'true';
      return {
        what: isReplay ? `${status}, replayed` : String(status),
        retryAfterMs: 0,
        final: { status, body },
      };
    } catch {
      return { what: 'connection lost', retryAfterMs: 1000 };
    }
  }
}
