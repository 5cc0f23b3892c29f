import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { DomainError } from '../common';

/** How many requests of each kind one user may have under way at one replica. */
const MOST = {
  /** Requests that wait for events or for the end of an order. Each keeps a connection. */
  wait: 100,
  /** Each pings up to 1,000 proxies. */
  ping: 2,
  /** Each writes up to 10,000 deliveries. */
  replay: 2,
  /** Each is written for its caller alone, and takes up to 2 MB until that has read it. */
  export: 16,
} as const;

const RETRY_AFTER_SECONDS = 5;

/** A user has as many requests of one kind under way as they may. */
export class TooManyUnderWay extends DomainError {
  readonly kind = 'rate-limited';

  constructor() {
    super('Too many requests of this kind are under way', { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
}

/**
 * Bounds what one user can have under way at this replica: requests that wait, stream or fan out take memory,
 * sockets and processor time for seconds, which the limits of requests in a minute do not bound.
 */
@Injectable()
export class RequestsUnderWay {
  private readonly counts = new Map<string, number>();

  /**
   * Admits a request. Call the result once, when the request has ended.
   *
   * @throws TooManyUnderWay
   */
  enter(kind: keyof typeof MOST, userId: number): () => void {
    const key = `${kind} ${userId}`;
    const count = this.counts.get(key) ?? 0;
    if (count >= MOST[kind]) throw new TooManyUnderWay();
    this.counts.set(key, count + 1);
    return () => {
      const left = (this.counts.get(key) ?? 0) - 1;
      if (left > 0) this.counts.set(key, left);
      else this.counts.delete(key);
    };
  }
}

/** The client has left: nobody is there to respond to. */
export class Disconnected extends Error {}

/**
 * Aborts with {@link Disconnected} when the client disconnects, or has read the response. It may have
 * disconnected already: the guard reads the token from the database before a route begins.
 */
export function disconnection(response: Response): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Disconnected());
  if (response.closed) abort();
  else response.once('close', abort);
  return controller.signal;
}
