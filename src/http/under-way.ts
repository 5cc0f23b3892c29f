import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { domainError, ConcurrencyLimit } from '../common';
import { AppConfig } from '../config';

/** Limits on the concurrent requests of one kind at one replica. */
interface Bound {
  /** Maximum for one user or, if the user is not known yet, for one address. */
  readonly ofOne: number;
  readonly ofAll?: number;
  /** Fraction of `MAX_CONNECTIONS` available to all requests of this kind combined. */
  readonly part?: number;
}

const BOUNDS = {
  /** Requests that wait for events or an order's outcome. Each occupies a connection. */
  wait: { ofOne: 100, part: 0.4 },
  /** Bodies that arrive slowly; other bodies are not counted. */
  body: { ofOne: 50, part: 0.1 },
  /** Pings. Each request pings up to 1,000 proxies. */
  ping: { ofOne: 2 },
  /** Proxy checks. Each takes up to 10 s and three connections. */
  check: { ofOne: 10, ofAll: 100 },
  /** Proxy type changes. Each waits for two provider calls. */
  type: { ofOne: 10, ofAll: 50 },
  /** Webhook replays. Each writes up to 10,000 deliveries. */
  replay: { ofOne: 2 },
  /** Exports. Each holds up to 2 MB until the client has read it. */
  export: { ofOne: 16 },
  /** Deposits. Each request waits for the payment provider. */
  deposit: { ofOne: 4, ofAll: 100 },
  /** Forecasts. Each simulates all rentals of a user. */
  forecast: { ofOne: 2 },
} satisfies Record<string, Bound>;

type Kind = keyof typeof BOUNDS;

const RETRY_AFTER_SECONDS = 5;

export class TooManyUnderWay extends domainError(
  'rate-limited',
  'Too many requests of this kind are in progress',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

/** Limits a user's concurrent requests, because slow requests hold memory and sockets for seconds. */
@Injectable()
export class RequestsUnderWay {
  private readonly turns: Readonly<Record<string, ConcurrencyLimit<number | string>>>;

  constructor({ server }: AppConfig) {
    const ofKind = ({ ofOne, part, ofAll = Infinity }: Bound) =>
      new ConcurrencyLimit<number | string>(part ? Math.ceil(part * server.maxConnections) : ofAll, ofOne);
    this.turns = Object.fromEntries(Object.entries(BOUNDS).map(([kind, bound]) => [kind, ofKind(bound)]));
  }

  of(kind: Kind, userId: number): number {
    return this.turns[kind]?.of(userId) ?? 0;
  }

  /** @throws TooManyUnderWay */
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

/** Returns a signal that aborts once the response has been sent or the client has disconnected. */
export function disconnection(response: Response): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Disconnected());
  if (response.closed) abort();
  else response.once('close', abort);
  return controller.signal;
}
