import { createServer, type IncomingMessage, request as send, STATUS_CODES } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import {
  WRONG_EXIT_ADDRESS,
  type Endpoint,
  endpointOf,
  type ProxyFault,
  type FindFault,
  type FindRefusal,
} from './endpoint';
import { isLoopback, lookupLoopback, LOOPBACK_ONLY } from './loopback';

const CONNECT_TIMEOUT_MS = 10_000;

/** Fields that proxies must not forward (RFC 9110, section 7.6.1), and `proxy-connection` of old clients. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

class ProxyResponse extends Error {
  constructor(
    readonly status: number,
    message = STATUS_CODES[status] ?? '',
  ) {
    super(message);
  }

  get headers(): Record<string, string | number> {
    return {
      connection: 'close',
      'content-type': 'text/plain; charset=utf-8',
      'content-length': Buffer.byteLength(this.message),
      ...(this.status === 407 && { 'proxy-authenticate': 'Basic realm="proxy"' }),
    };
  }
}

/** Not based on the package proxy-chain, which uses its own error codes and forwards `Proxy-Connection`. */
export function createHttpEndpoint(
  findRefusal: FindRefusal,
  findFault: FindFault = () => undefined,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
): Endpoint {
  const server = createServer();

  function connectTo(request: IncomingMessage, url: URL | null): Socket {
    const [login, password] = credentialsOf(request);
    const refused = findRefusal(login, password);
    if (refused !== null) throw new ProxyResponse(407, refused);
    if (url === null) throw new ProxyResponse(400);
    if (!isLoopback(url.hostname)) throw new ProxyResponse(403, LOOPBACK_ONLY);
    const fault = findFault(login);
    if (fault === 'unreachable') throw new ProxyResponse(502);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({
      host,
      port: Number(url.port || 80),
      lookup: lookupLoopback,
      allowHalfOpen: true,
      ...(fault === 'elsewhere' && { localAddress: WRONG_EXIT_ADDRESS }),
    });
    const timer = setTimeout(() => socket.destroy(new ProxyResponse(504)), connectTimeoutMs);
    return socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  }

  function isLeftAlone(request: IncomingMessage): boolean {
    const fault = faultOf(request);
    if (fault === 'close') request.socket.destroy();
    return fault === 'close' || fault === 'hang';
  }

  function faultOf(request: IncomingMessage): ProxyFault | undefined {
    const [login, password] = credentialsOf(request);
    return findRefusal(login, password) === null ? findFault(login) : undefined;
  }

  server.on('request', (request, response) => {
    if (isLeftAlone(request)) return;
    const fail = (error: unknown) => {
      if (response.headersSent) return response.destroy();
      const failure = responseTo(error);
      return response.writeHead(failure.status, failure.headers).end(failure.message);
    };
    try {
      const url = plainUrl(request.url ?? '');
      const target = connectTo(request, url);
      const forwarded = send({
        createConnection: () => target,
        method: request.method ?? 'GET',
        path: url ? `${url.pathname}${url.search}` : '/',
        headers: [
          ...endToEnd(request),
          ...(faultOf(request) === 'forwarded-for'
            ? ['X-Forwarded-For', request.socket.remoteAddress ?? '']
            : []),
        ],
      });
      forwarded.once('response', (received) => {
        response.writeHead(received.statusCode ?? 502, received.statusMessage ?? '', endToEnd(received));
        pipeline(received, response, () => target.destroy());
      });
      forwarded.on('error', fail);
      request.pipe(forwarded);
      response.once('close', () => forwarded.destroy());
    } catch (error) {
      fail(error);
    }
  });

  server.on('connect', (request, source: Socket, head) => {
    if (isLeftAlone(request)) return;
    const fail = (error: unknown) => {
      const { status, headers, message } = responseTo(error);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      source.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${message}`);
    };
    try {
      const target = connectTo(request, tunnelUrl(request.url ?? ''));
      target.once('error', fail).once('connect', () => {
        target.off('error', fail).on('error', () => source.destroy());
        source.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        target.write(head);
        source.pipe(target).pipe(source);
      });
      source.once('close', () => target.destroy());
      // Keep reading from the client. Otherwise, the socket would not notice when the client disconnects.
      target.once('close', () => source.resume());
    } catch (error) {
      fail(error);
    }
  });

  return endpointOf(server);
}

function responseTo(error: unknown): ProxyResponse {
  return error instanceof ProxyResponse ? error : new ProxyResponse(502);
}

function credentialsOf({ headers }: IncomingMessage): [login: string, password: string] {
  const encoded = /^Basic ([\w+/=-]+)$/i.exec(headers['proxy-authorization'] ?? '')?.[1] ?? '';
  const [, login = '', password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return [login, password];
}

/** @returns null if the text is not an absolute HTTP URL */
function plainUrl(text: string): URL | null {
  return /^http:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
}

/** @returns null if the text is not `host:port`, the target of a CONNECT request */
function tunnelUrl(text: string): URL | null {
  const url = `tunnel://${text}`;
  return /^[^/?#@]+:\d{1,5}$/.test(text) && URL.canParse(url) ? new URL(url) : null;
}

/** Returns the end-to-end header fields as alternating names and values. */
function endToEnd({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  return rawHeaders.filter((_, index) => {
    const name = rawHeaders[index - (index % 2)]?.toLowerCase() ?? '';
    return !HOP_BY_HOP.includes(name) && !named.includes(name);
  });
}
