import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { domainError, Turns } from '../common';
import { AppConfig } from '../config';

/** How many requests of a kind may be in progress at one replica. */
interface Bound {
  /** Of one user or, before the user is known, of one address. */
  readonly ofOne: number;
  readonly ofAll?: number;
  /** The part of `MAX_CONNECTIONS` that all of them together may keep. */
  readonly part?: number;
}

const BOUNDS = {
  /** Each waits for events or for the end of an order, and keeps a connection. */
  wait: { ofOne: 100, part: 0.4 },
  /** Each sends its body slowly. Bodies that arrive at once, as nearly all do, do not count. */
  body: { ofOne: 50, part: 0.1 },
  /** Each pings up to 1,000 proxies. */
  ping: { ofOne: 2 },
  /** Each takes up to 10 s and three connections. */
  check: { ofOne: 10, ofAll: 100 },
  /** Each waits for two calls to the provider, with their permits. */
  type: { ofOne: 10, ofAll: 50 },
  /** Each writes up to 10,000 deliveries. */
  replay: { ofOne: 2 },
  /** Each is generated for one caller, and takes up to 2 MB until that caller has read it. */
  export: { ofOne: 16 },
  /** Each waits for the provider of payments. */
  deposit: { ofOne: 4, ofAll: 100 },
  /** Each reads all rentals of its user and decides about each. */
  forecast: { ofOne: 2 },
} satisfies Record<string, Bound>;

type Kind = keyof typeof BOUNDS;

const RETRY_AFTER_SECONDS = 5;

/** The user, the address, or all together, reached the limit of requests of one kind in progress. */
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
  private readonly turns: Readonly<Record<string, Turns<number | string>>>;

  constructor({ server }: AppConfig) {
    const ofKind = ({ ofOne, part, ofAll = Infinity }: Bound) =>
      new Turns<number | string>(part ? Math.ceil(part * server.maxConnections) : ofAll, ofOne);
    this.turns = Object.fromEntries(Object.entries(BOUNDS).map(([kind, bound]) => [kind, ofKind(bound)]));
  }

  /** How many requests of a kind a user has in progress. */
  of(kind: Kind, userId: number): number {
    return this.turns[kind]?.of(userId) ?? 0;
  }

  /** Runs a request that is in progress until it has its result. @throws TooManyUnderWay */
  async run<Result>(kind: Kind, userId: number, request: () => Promise<Result>): Promise<Result> {
    const leave = this.enter(kind, userId);
    try {
      return await request();
    } finally {
      leave();
    }
  }

  /**
   * Admits a request. Call the returned function when the request has ended.
   *
   * @param keys the user's id, and networks as texts
   * @throws TooManyUnderWay
   */
  enter(kind: Kind, ...keys: readonly (number | string)[]): () => void {
    const leave = this.turns[kind]?.enter(...keys);
    if (!leave) throw new TooManyUnderWay();
    return leave;
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
