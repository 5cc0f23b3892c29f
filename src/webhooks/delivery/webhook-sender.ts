import http from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { TimeLimit } from '../../common';
import { AddressRefused, type AddressRules } from '../addresses';
import { checkedLookup, NameNotFound, systemResolver } from './lookup';

export const STORED_RESPONSE_BYTES = 1024;
/** Only the status determines the result, so a slow body may be cut off. */
const LONGEST_BODY_MS = 1000;
/** Limits the whole response, including heads of 1xx responses. Node.js only limits the size of each head. */
const MAX_RESPONSE_KB = 64;

/**
 * `timeout` closes connections that stay idle. `boundedAgent` also closes an idle connection if the receiver
 * sends anything on it.
 */
const KEEP_ALIVE = { keepAlive: true, timeout: 5000, maxFreeSockets: 4 } as const;
const MAX_IDLE_CONNECTIONS = 256;

export type SendOutcome =
  | 'delivered'
  /** Any status except 2xx, including redirects. */
  | 'refused'
  | 'timeout'
  | 'unreachable'
  | 'forbidden'
  /** The service stopped waiting for a response. */
  | 'cut-off';

export interface SendResult {
  readonly outcome: SendOutcome;
  readonly status: number | null;
  readonly durationMs: number;
  /** Beginning of the response body; null if there was no response. */
  readonly response: string | null;
  /** Shown to the customer, without the URL; null after a delivery. */
  readonly error: string | null;
  readonly retryAfterSeconds: number | null;
}

type Headers = Readonly<Record<string, string>>;

interface ReceiverResponse {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/** Posts to allowed addresses. Follows no redirect, uses no proxy, and reads only the start of a response. */
export class WebhookSender {
  private readonly agents = { 'http:': boundedAgent(http), 'https:': boundedAgent(https) };
  private readonly lookup: LookupFunction;

  /** @param timeoutMs timeout of a whole request, including DNS and connecting */
  constructor(
    private readonly rules: AddressRules,
    private readonly timeoutMs: number,
    resolver: Parameters<typeof checkedLookup>[0] = systemResolver(),
  ) {
    this.lookup = checkedLookup(resolver, rules);
  }

  /** Never rejects. `stop` ends the request with the outcome `cut-off`. */
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
      // The receiver closed the idle connection during the request, so send the request again.
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
    // Some connections, such as protocol upgrades, end without a response or an error.
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

function firstBytes(response: http.IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (): void => {
      clearTimeout(timer);
      // Only a connection without unread bytes can be reused.
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

/** Drops a cut-off last character, and replaces NUL because PostgreSQL cannot store it. */
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
  status >= 300 && status < 400 ? 'redirects are not followed' : `the status ${status} does not mean success`;

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
    const text = `the response contains no status within the first ${MAX_RESPONSE_KB} kB`;
    return { ...none, outcome: 'unreachable', error: text };
  }
  if (isStopped) {
    return {
      ...none,
      outcome: 'cut-off',
      error: 'the service stopped waiting, and will send the event again',
    };
  }
  if (isLate) return { ...none, outcome: 'timeout', error: 'no response in time' };
  return { ...none, outcome: 'unreachable', error: `the connection failed: ${codeOf(error)}` };
}

/** Returns only the error's code, because its message may contain the address. */
const codeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'closed';
};
