import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { domainError, ConcurrencyLimit } from '../common';
import { AppConfig } from '../config';

/** Maximum numbers of concurrent requests of one kind at one replica. */
interface Bound {
  /** Maximum for one user or, if the user is not known yet, for one address. */
  readonly ofOne: number;
  readonly ofAll?: number;
  /** Fraction of `MAX_CONNECTIONS` that all requests of the kind together may use. */
  readonly part?: number;
}

const BOUNDS = {
  /** Requests that wait for events or for the end of an order. Each occupies a connection. */
  wait: { ofOne: 100, part: 0.4 },
  /** Bodies that arrive slowly. Nearly all bodies arrive quickly and are not counted. */
  body: { ofOne: 50, part: 0.1 },
  /** Pings of up to 1,000 proxies each. */
  ping: { ofOne: 2 },
  /** Checks, each of which takes up to 10 s and three connections. */
  check: { ofOne: 10, ofAll: 100 },
  /** Type changes, each of which waits for two provider calls and their rate permits. */
  type: { ofOne: 10, ofAll: 50 },
  /** Replays of webhooks, each of which writes up to 10,000 deliveries. */
  replay: { ofOne: 2 },
  /** Exports, each of which occupies up to 2 MB until the caller has read it. */
  export: { ofOne: 16 },
  /** Deposits, each of which waits for the payment provider. */
  deposit: { ofOne: 4, ofAll: 100 },
  /** Forecasts, each of which simulates all rentals of its user. */
  forecast: { ofOne: 2 },
} satisfies Record<string, Bound>;

type Kind = keyof typeof BOUNDS;

const RETRY_AFTER_SECONDS = 5;

/** Too many requests of one kind are in progress for the user, the address, or all callers together. */
export class TooManyUnderWay extends domainError(
  'rate-limited',
  'Too many requests of this kind are in progress',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

/**
 * Limits the requests that a user has in progress at this replica. Requests that wait, stream or fan out take
 * memory, sockets and processor time for seconds, which a limit per minute does not prevent.
 */
@Injectable()
export class RequestsUnderWay {
  private readonly turns: Readonly<Record<string, ConcurrencyLimit<number | string>>>;

  constructor({ server }: AppConfig) {
    const ofKind = ({ ofOne, part, ofAll = Infinity }: Bound) =>
      new ConcurrencyLimit<number | string>(part ? Math.ceil(part * server.maxConnections) : ofAll, ofOne);
    this.turns = Object.fromEntries(Object.entries(BOUNDS).map(([kind, bound]) => [kind, ofKind(bound)]));
  }

  /** Returns how many requests of a kind a user has in progress. */
  of(kind: Kind, userId: number): number {
    return this.turns[kind]?.of(userId) ?? 0;
  }

  /** Runs a request, and counts it as in progress until it returns. @throws TooManyUnderWay */
  async run<Result>(kind: Kind, userId: number, request: () => Promise<Result>): Promise<Result> {
    const leave = this.enter(kind, userId);
    try {
      return await request();
    } finally {
      leave();
    }
  }

  /** Counts a request as in progress until the returned function is called. @throws TooManyUnderWay */
  enter(kind: Kind, ...keys: readonly (number | string)[]): () => void {
    const leave = this.turns[kind]?.enter(...keys);
    if (!leave) throw new TooManyUnderWay();
    return leave;
  }
}

/** The client has disconnected, so no response is needed. */
export class Disconnected extends Error {}

/**
 * Returns a signal that aborts with {@link Disconnected} when the client has disconnected or has read the
 * response, even if that was before this call.
 */
export function disconnection(response: Response): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Disconnected());
  if (response.closed) abort();
  else response.once('close', abort);
  return controller.signal;
}
