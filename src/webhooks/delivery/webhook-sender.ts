import http from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { TimeLimit } from '../../common';
import { AddressRefused, type AddressRules } from '../addresses';
import { checkedLookup, NameNotFound, systemResolver } from './lookup';

/** How much of a response body is stored. The rest is not read. */
export const STORED_RESPONSE_BYTES = 1024;
/** Only the status counts, so a body that does not end is cut off. */
const LONGEST_BODY_MS = 1000;
/**
 * Honest responses are shorter up to the point where reading ends. Node bounds each head, but not the number
 * of interim responses (1xx) before the last, nor the spaces and empty lines between their parts.
 */
const MAX_RESPONSE_KB = 64;

/**
 * A few idle connections are kept for the next event, for a short time: the timeout restarts with each
 * received byte, but {@link boundedAgent} closes them at the first.
 */
const KEEP_ALIVE = { keepAlive: true, timeout: 5000, maxFreeSockets: 4 } as const;
const MAX_IDLE_CONNECTIONS = 256;

/** The outcome of one attempt. */
export type Sent =
  | 'delivered'
  /** A response with another status than 2xx, including redirects. */
  | 'refused'
  | 'timeout'
  | 'unreachable'
  /** The address is refused. */
  | 'forbidden'
  /** The service stopped waiting. */
  | 'cut-off';

export interface SendResult {
  readonly outcome: Sent;
  /** The status of the response; null if there was none. */
  readonly status: number | null;
  /** In whole milliseconds. */
  readonly durationMs: number;
  /** The first bytes of the response's body, as text; null if there was no response. */
  readonly response: string | null;
  /** Why it does not count as delivered, for the customer, without the URL; null if it does. */
  readonly error: string | null;
  /** The value of `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number | null;
}

type Headers = Readonly<Record<string, string>>;

interface ReceiverResponse {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/**
 * Posts to addresses that customers chose. It connects to no address that the rules refuse, follows no
 * redirect, uses no proxy, and reads only the beginning of a response.
 */
export class WebhookSender {
  private readonly agents = { 'http:': boundedAgent(http), 'https:': boundedAgent(https) };
  private readonly lookup: LookupFunction;

  /** @param timeoutMs for a whole request, including DNS and connecting */
  constructor(
    private readonly rules: AddressRules,
    private readonly timeoutMs: number,
    resolver: Parameters<typeof checkedLookup>[0] = systemResolver(),
  ) {
    this.lookup = checkedLookup(resolver, rules);
  }

  /** Never rejects. @param stop ends the request: its outcome is then `cut-off` */
  async post(url: string, body: string, headers: Headers, stop?: AbortSignal): Promise<SendResult> {
    const startedAtMs = performance.now();
    const limit = new TimeLimit(this.timeoutMs, stop);
    const measured = () => ({ durationMs: Math.round(performance.now() - startedAtMs) });
    try {
      const response = await this.send(this.rules.checkUrl(url), body, headers, limit.signal);
      return { ...judge(response), ...measured() };
    } catch (error) {
      return {
        ...failure(error, { isLate: limit.isOver, isStopped: stop?.aborted === true }),
        ...measured(),
      };
    } finally {
      limit.release();
    }
  }

  /** Closes idle connections. */
  close(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private async send(
    url: URL,
    body: string,
    headers: Headers,
    signal: AbortSignal,
  ): Promise<ReceiverResponse> {
    const agent = url.protocol === 'https:' ? this.agents['https:'] : this.agents['http:'];
    const options = { headers, signal, lookup: this.lookup };
    try {
      return await request(url, body, { ...options, agent });
    } catch (error) {
      // The receiver closed an idle connection while the request was on its way.
      if (!(error instanceof StaleConnection)) throw error;
      return request(url, body, { ...options, agent: false });
    }
  }
}

class StaleConnection extends Error {}

class ResponseTooLong extends Error {}

function boundedAgent(scheme: typeof http | typeof https): http.Agent {
  const agent = new scheme.Agent(KEEP_ALIVE);
  const keep = agent.keepSocketAlive.bind(agent) as (socket: Socket) => boolean;
  const reuse = agent.reuseSocket.bind(agent);
  const idle = () =>
    Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
  Object.assign(agent, {
    keepSocketAlive: (socket: Socket) => {
      const isKept = idle() < MAX_IDLE_CONNECTIONS && keep(socket);
      if (isKept) socket.on('data', destroy);
      return isKept;
    },
    reuseSocket: (socket: Socket, call: http.ClientRequest) => {
      socket.off('data', destroy);
      reuse(socket, call);
    },
  });
  return agent;
}

function destroy(this: Socket): void {
  this.destroy();
}

/** Ends a call when its connection has received more than the limit. */
function boundResponse(call: http.ClientRequest): void {
  call.on('socket', (socket) => {
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_RESPONSE_KB * 1024) call.destroy(new ResponseTooLong());
    };
    socket.on('data', count);
    call.once('close', () => socket.off('data', count));
  });
}

function request(
  url: URL,
  body: string,
  options: Pick<https.RequestOptions, 'agent' | 'signal' | 'lookup'> & { readonly headers: Headers },
): Promise<ReceiverResponse> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const call = (url.protocol === 'https:' ? https : http).request(url, {
      ...options,
      method: 'POST',
      headers: { ...options.headers, 'content-length': bytes.length },
    });
    boundResponse(call);
    call.on('error', (error) => reject(call.reusedSocket && isClosed(error) ? new StaleConnection() : error));
    let hasResponse = false;
    // A protocol upgrade, for example, ends the connection without a response and without an error.
    call.on('close', () => hasResponse || reject(new Error('the connection was closed')));
    call.on('response', (response) => {
      hasResponse = true;
      void firstBytes(response).then((text) =>
        resolve({ status: response.statusCode ?? 0, text, retryAfter: response.headers['retry-after'] }),
      );
    });
    call.end(bytes);
  });
}

const isClosed = (error: Error): boolean =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

/** Reads until the end, a kilobyte, a second or a failure, whichever comes first. */
function firstBytes(response: http.IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (): void => {
      clearTimeout(timer);
      // A connection with unread bytes is closed; one that was read to the end returns to its agent.
      if (!response.complete) response.destroy();
      resolve(readable(Buffer.concat(chunks).subarray(0, STORED_RESPONSE_BYTES)));
    };
    const timer = setTimeout(finish, LONGEST_BODY_MS);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > STORED_RESPONSE_BYTES) finish();
    });
    response.on('end', finish);
    response.on('error', finish);
    response.on('close', finish);
  });
}

/** PostgreSQL text cannot contain NUL. A character that was cut in the middle is dropped. */
const readable = (bytes: Buffer): string =>
  new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\uFFFD');

function judge({ status, text, retryAfter }: ReceiverResponse): Omit<SendResult, 'durationMs'> {
  const isDelivered = status >= 200 && status < 300;
  return {
    outcome: isDelivered ? 'delivered' : 'refused',
    status,
    response: text,
    error: isDelivered ? null : whyNot(status),
    retryAfterSeconds: secondsOf(retryAfter),
  };
}

const whyNot = (status: number): string =>
  status >= 300 && status < 400 ? 'redirects are not followed' : `the status ${status} is no success`;

/** Reads both forms of the header: seconds, and a date. */
function secondsOf(retryAfter: string | undefined): number | null {
  if (retryAfter === undefined) return null;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter);
  const atMs = /^[A-Z][a-z]/.test(retryAfter) ? Date.parse(retryAfter) : NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, Math.ceil((atMs - Date.now()) / 1000));
}

function failure(
  error: unknown,
  { isLate, isStopped }: { readonly isLate: boolean; readonly isStopped: boolean },
): Omit<SendResult, 'durationMs'> {
  const none = { status: null, response: null, retryAfterSeconds: null };
  if (error instanceof AddressRefused) return { ...none, outcome: 'forbidden', error: error.message };
  if (error instanceof NameNotFound) return { ...none, outcome: 'unreachable', error: error.message };
  if (error instanceof ResponseTooLong) {
    const text = `the response has no status within ${MAX_RESPONSE_KB} kB`;
    return { ...none, outcome: 'unreachable', error: text };
  }
  if (isStopped) return { ...none, outcome: 'cut-off', error: 'we stopped waiting: it is sent again' };
  if (isLate) return { ...none, outcome: 'timeout', error: 'no response in time' };
  return { ...none, outcome: 'unreachable', error: `the connection failed: ${codeOf(error)}` };
}

/** The message of an error may name the address. */
const codeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'closed';
};
