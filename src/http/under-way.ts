import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Counts, domainError } from '../common';

/** How many requests of a kind may be in progress at one replica: of one user, and of all users. */
interface Bound {
  readonly ofUser: number;
  readonly ofAll?: number;
}

const BOUNDS = {
  /** Each waits for events or for the end of an order, and keeps a connection. */
  wait: { ofUser: 100 },
  /** Each pings up to 1,000 proxies. */
  ping: { ofUser: 2 },
  /** Each takes up to 10 s and three connections. */
  check: { ofUser: 10, ofAll: 100 },
  /** Each writes up to 10,000 deliveries. */
  replay: { ofUser: 2 },
  /** Each is generated for one caller, and takes up to 2 MB until that caller has read it. */
  export: { ofUser: 16 },
  /** Each waits for the provider of payments. */
  deposit: { ofUser: 4, ofAll: 100 },
  /** Each reads all rentals of its user and decides about each. */
  forecast: { ofUser: 2 },
} satisfies Record<string, Bound>;

const RETRY_AFTER_SECONDS = 5;

/** The user, or all users together, reached the limit of requests of one kind in progress. */
export class TooManyUnderWay extends domainError(
  'rate-limited',
  'Too many requests of this kind are under way',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

/**
 * Bounds the requests that a user has in progress at this replica: requests that wait, stream or fan out take
 * memory, sockets and processor time for seconds, which the limits of requests in a minute do not bound.
 */
@Injectable()
export class RequestsUnderWay {
  private readonly counts = new Counts<string>();

  /** Runs a request that is in progress until it has its result. @throws TooManyUnderWay */
  async run<Result>(
    kind: keyof typeof BOUNDS,
    userId: number,
    request: () => Promise<Result>,
  ): Promise<Result> {
    const leave = this.enter(kind, userId);
    try {
      return await request();
    } finally {
      leave();
    }
  }

  /**
   * Admits a request. Call the returned function once, when the request has ended.
   *
   * @throws TooManyUnderWay
   */
  enter(kind: keyof typeof BOUNDS, userId: number): () => void {
    const { ofUser, ofAll = Infinity }: Bound = BOUNDS[kind];
    const own = `${kind} ${userId}`;
    if (this.counts.of(own) >= ofUser || this.counts.of(kind) >= ofAll) throw new TooManyUnderWay();
    const add = (change: 1 | -1): void => {
      for (const key of [own, kind]) this.counts.add(key, change);
    };
    add(1);
    return () => add(-1);
  }
}

/** The client has left, so no response is needed. */
export class Disconnected extends Error {}

/**
 * Aborts with {@link Disconnected} when the client disconnects, or has read the response. It may have
 * disconnected already, while the guard read the token from the database.
 */
export function disconnection(response: Response): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Disconnected());
  if (response.closed) abort();
  else response.once('close', abort);
  return controller.signal;
}
