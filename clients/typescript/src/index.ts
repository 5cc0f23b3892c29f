import createFetchClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api-types.js';

export type { components, paths };

export type ProxyRentalClient = Client<paths>;
export type OrderDetails = components['schemas']['OrderDetails'];
export type EventOut = components['schemas']['EventOut'];
export type EventType = EventOut['type'];

export interface ClientOptions {
  /** Where the service is, e.g. `http://127.0.0.1:3000`. */
  readonly baseUrl: string;
  readonly token: string;
  /** How long a call is retried before its last failure is returned. Ten minutes by default. */
  readonly patienceMs?: number;
  /** Sends one request. The global `fetch` by default. */
  readonly fetch?: Send;
  /**
   * How many responses are cached, so that only changed ones are sent again: lists, pages and exports of up
   * to 8,000 proxies, each for its own address. 8 by default; 0 caches none.
   */
  readonly keptResponses?: number;
}

type Send = (request: Request) => Promise<Response>;

const TEN_MINUTES_MS = 600_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** The longest that the service lets a request wait for the end of an order, or for an event. */
const WAIT_SECONDS = 30;
/** The client gives up on a silent connection after the wait, and time for the response. */
const LONGEST_POLL_MS = 60_000;
const EVENTS_AT_ONCE = 200;
const KEPT_RESPONSES = 8;

/**
 * A client with every call of the service's description. Requests that only read, and requests with an
 * `Idempotency-Key`, which are executed once, are retried: after a lost connection, 429, 5xx, and 409 while
 * something else is in progress. When a response names an order that is not closed yet, the client waits for
 * it. A purchase without a key is sent once. A list that has not changed since it was last read is not sent
 * again, and is returned as it was.
 */
export function createClient(options: ClientOptions): ProxyRentalClient {
  const { baseUrl, token, keptResponses = KEPT_RESPONSES } = options;
  const headers = { Authorization: `Bearer ${token}` };
  const send = sendConditionally((request) => fetchPatiently(request, options), keptResponses);
  return createFetchClient<paths>({ baseUrl, headers, fetch: send });
}

/**
 * Waits until an order is closed, however long that takes.
 *
 * @throws Error when the order cannot be read
 */
export async function untilClosed(
  client: ProxyRentalClient,
  orderId: number,
  signal?: AbortSignal,
): Promise<OrderDetails> {
  for (;;) {
    const { data, error, response } = await client.GET('/orders/{order_id}', {
      params: { path: { order_id: orderId }, query: { wait: WAIT_SECONDS } },
      ...(signal && { signal }),
    });
    if (!data) throw new Error(`order ${orderId}: ${response.status} ${JSON.stringify(error)}`);
    if (isClosed(data)) return data;
  }
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor?: number | null;
}

/**
 * The items of all pages of a list. Each page is read when its first item is needed.
 *
 * @param read gives the page after a cursor; the first page without one
 * @throws Error when a page cannot be read
 */
export async function* itemsOf<Item>(
  read: (
    cursor: number | undefined,
  ) => Promise<{ readonly data?: Page<Item>; readonly error?: unknown; readonly response: Response }>,
): AsyncGenerator<Item, void, undefined> {
  let cursor: number | null | undefined;
  do {
    const { data, error, response } = await read(cursor ?? undefined);
    if (!data) throw new Error(`a list: ${response.status} ${JSON.stringify(error)}`);
    yield* data.items;
    cursor = data.next_cursor;
  } while (typeof cursor === 'number');
}

export interface EventsOptions {
  /**
   * Where to continue: the cursor that was stored, or `now` for new events only. By default the oldest event
   * within the retention period.
   */
  readonly after?: string;
  /** Only events of these types. All by default. */
  readonly types?: readonly EventType[];
  /** Ends the events when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Receives the cursor to store, once all events before it were taken. The `id` of an event is a cursor as
   * well, but this one advances also while there are no events of these types.
   */
  readonly onCursor?: (cursor: string) => void | Promise<void>;
  /** Receives each failure after which the client continues, for a log. */
  readonly onFailure?: (failure: unknown) => void;
}

/** Events were missed: those after the cursor were removed. `message` says how to continue. */
export class EventsGoneError extends Error {
  override readonly name = 'EventsGoneError';
}

/**
 * The customer's events as they happen, in order, by long polls. It continues after failures, however long
 * they last. An event may come again after a failure of the caller: deduplicate by its `id`.
 *
 * @throws EventsGoneError
 * @throws Error when the service refuses the request: the token, its scope, or the cursor
 */
export async function* events(
  client: ProxyRentalClient,
  options: EventsOptions = {},
): AsyncGenerator<EventOut, void, undefined> {
  const { signal, onCursor, onFailure } = options;
  let cursor = options.after;
  let failures = 0;
  const isEnded = (): boolean => signal?.aborted === true;
  while (!isEnded()) {
    try {
      const page = await readEvents(client, cursor, options);
      failures = 0;
      yield* page.items;
      cursor = page.next_cursor;
      await onCursor?.(cursor);
    } catch (failure) {
      if (isEnded()) return;
      if (!(failure instanceof PassingFailure)) throw failure;
      onFailure?.(failure.cause);
      await pause(backoffMs(failures), signal ?? new AbortController().signal);
      failures += 1;
    }
  }
}

/** A failure that may be over at the next request. `cause` is the failure. */
class PassingFailure extends Error {}

/** @throws EventsGoneError, PassingFailure, Error */
async function readEvents(
  client: ProxyRentalClient,
  cursor: string | undefined,
  { types, signal }: Pick<EventsOptions, 'types' | 'signal'>,
): Promise<components['schemas']['EventsPage']> {
  const query = {
    wait: WAIT_SECONDS,
    limit: EVENTS_AT_ONCE,
    ...(cursor !== undefined && { after: cursor }),
    ...(types && { type: types.join(',') }),
  };
  const inTime = AbortSignal.timeout(LONGEST_POLL_MS);
  const { data, error, response } = await client
    .GET('/events', { params: { query }, signal: signal ? AbortSignal.any([signal, inTime]) : inTime })
    .catch((cause: unknown) => {
      throw new PassingFailure('no response', { cause });
    });
  if (data) return data;
  if (response.status === 410) throw new EventsGoneError(JSON.stringify(error?.detail));
  const failure = new Error(`events: ${response.status} ${JSON.stringify(error)}`);
  if (response.status !== 429 && response.status < 500) throw failure;
  throw new PassingFailure('no events', { cause: failure });
}

/**
 * Sends the `ETag` of the last response of an address, and returns that response again after 304.
 *
 * @param most how many responses are kept
 */
function sendConditionally(send: Send, most: number): Send {
  const kept = new Map<string, { readonly body: ArrayBuffer; readonly headers: Headers }>();
  return async (request) => {
    const { method, url, headers } = request;
    // A caller with a condition of its own gets its 304.
    if (method !== 'GET' || headers.has('If-None-Match')) return send(request);
    const known = kept.get(url);
    if (known) headers.set('If-None-Match', known.headers.get('ETag') ?? '');
    const response = await send(request);
    if (known && response.status === 304) return new Response(known.body, { headers: known.headers });
    // Without a length it is streamed, and may be of any.
    const isKept =
      response.status === 200 && ['ETag', 'Content-Length'].every((name) => response.headers.has(name));
    if (!isKept || most === 0) return response;
    const body = await response.arrayBuffer();
    kept.delete(url);
    kept.set(url, { body, headers: response.headers });
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return new Response(body, response);
  };
}

const isClosed = ({ closed_at: closedAt }: Pick<OrderDetails, 'closed_at'>): boolean => closedAt !== null;

async function fetchPatiently(request: Request, options: ClientOptions): Promise<Response> {
  const { patienceMs = TEN_MINUTES_MS, fetch: send = fetch } = options;
  const isRepeatable = request.method === 'GET' || request.headers.has('Idempotency-Key');
  const giveUpAtMs = performance.now() + patienceMs;
  for (let attempt = 0; ; attempt += 1) {
    let response: Response | undefined;
    let failure: unknown;
    try {
      response = await send(request.clone());
    } catch (error) {
      failure = error;
    }
    const pauseMs = secondsOf(response, 'Retry-After') * 1000 || backoffMs(attempt);
    const isLast =
      !isRepeatable ||
      request.signal.aborted ||
      performance.now() + pauseMs > giveUpAtMs ||
      isFinal(response);
    if (isLast) {
      if (response) return response;
      throw failure;
    }
    const isEnded = await waitForOrder(response, request, options);
    if (!isEnded) await pause(pauseMs, request.signal);
  }
}

/** A missing response is not final, and neither is one that a retry may change. */
function isFinal(response: Response | undefined): boolean {
  if (!response) return false;
  // A price above `max_price` is 409, too, but nothing that ends by itself.
  if (response.status === 409) {
    return !response.headers.has('Location') && !response.headers.has('Retry-After');
  }
  return response.status !== 429 && response.status < 500;
}

/** Waits for the end of the order that a response names. False when it names none, or it cannot be read. */
async function waitForOrder(
  response: Response | undefined,
  { headers, signal }: Request,
  { baseUrl, fetch: send = fetch }: ClientOptions,
): Promise<boolean> {
  const path = response?.headers.get('Location');
  if (!path?.startsWith('/orders/')) return false;
  try {
    const url = `${baseUrl.replace(/\/$/, '')}${path}?wait=${WAIT_SECONDS}`;
    const authorization = headers.get('Authorization') ?? '';
    const read = await send(new Request(url, { headers: { Authorization: authorization }, signal }));
    return read.ok && isClosed((await read.json()) as OrderDetails);
  } catch {
    return false;
  }
}

const secondsOf = (response: Response | undefined, header: string): number =>
  Number(response?.headers.get(header) ?? 0) || 0;

const backoffMs = (attempt: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
