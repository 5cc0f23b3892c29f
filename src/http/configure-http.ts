import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application, NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { Metrics } from '../metrics';
import { beginRequest } from './begin-request';
import type { ClosedConnections } from './connections';
import { preferFixedPaths } from './errors/allowed-methods';
import { ErrorFilter } from './errors/error.filter';
import { respondToMalformedRequests } from './errors/malformed-requests';
import { HttpAdapter } from './http-adapter';
import { parseQuery, toNormalUrl } from './request-url';
import { RequestValidationPipe } from './validation/request-validation.pipe';

const HEADERS_TIMEOUT_MS = 15_000;
export const REQUEST_TIMEOUT_MS = 30_000;

/**
 * How long a client may read nothing before it is disconnected. Shorter than any keep-alive timeout, so that
 * a socket's timeout shows which of the two has expired.
 */
const READER_IDLE_MS = 10_000;

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly keepAliveSeconds: number;
  /** In practice, a client that stops reading is disconnected after up to twice this time. */
  readonly readerIdleMs?: number | undefined;
  /** Reverse proxies whose `X-Forwarded-For` is trusted. Their connections are not limited by address. */
  readonly trustedProxies: readonly string[];
  readonly onFull?: (closed: ClosedConnections) => void;
}

/**
 * Must be called before `init()` and before any other middleware. The application needs `bodyParser: false`,
 * because `RequestInputGuard` reads the bodies.
 * @param isUnavailable recognises errors of a dependency such as the database; the response is then 503
 */
export function configureHttp(
  app: NestExpressApplication,
  limits: ConnectionLimits,
  isUnavailable: (error: unknown) => boolean = () => false,
  metrics = Metrics.disabled,
): void {
  const express = app.getHttpAdapter().getInstance() as Application;
  // The router already exists, so it would ignore the setting `case sensitive routing`.
  Object.assign(express.router, { caseSensitive: true });
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);
  app.set('trust proxy', limits.trustedProxies);
  neverFreshWithoutTag(express);
  preferFixedPaths(express, 'proxy_id');

  app.use(prepareRequest(metrics));
  app.useGlobalFilters(new ErrorFilter(isUnavailable));
  app.useGlobalPipes(new RequestValidationPipe());

  configureServer(app.getHttpServer(), limits, metrics);
  const adapter = app.getHttpAdapter();
  if (!(adapter instanceof HttpAdapter)) return;
  const isTrusted = express.get('trust proxy fn') as (address: string) => boolean;
  adapter.boundConnections({ most: limits.maxConnections, isTrusted, onFull: limits.onFull });
}

/** Content security policy for API responses. HTML pages set their own. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/** Omits Strict-Transport-Security, because a reverse proxy terminates TLS. */
const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: NOTHING_IS_LOADED,
});

/** Performs all steps in one middleware, because routing to each would cost more than the step itself. */
const prepareRequest =
  (metrics: Metrics) =>
  (request: Request, response: Response, next: NextFunction): void => {
    beginRequest(request, response, metrics, () => {
      // Express would ignore `If-None-Match` in a request with `no-cache`, contrary to RFC 9111, section
      // 5.2.1.4.
      delete request.headers['cache-control'];
      // Remove the `-gzip` that Apache appends to the ETag of a response that it compresses.
      const known = request.headers['if-none-match'];
      if (known !== undefined) request.headers['if-none-match'] = known.replaceAll('-gzip"', '"');
      request.url = toNormalUrl(request.url);
      securityHeaders(request, response, next);
    });
  };

/** Prevents the 304 that Express sends for `If-None-Match: *` even if the response has no ETag. */
function neverFreshWithoutTag(express: Application): void {
  const { request } = express as unknown as { readonly request: object };
  const prototype = Object.getPrototypeOf(request) as object;
  Object.defineProperty(request, 'fresh', {
    get(this: Request): boolean {
      return this.res?.hasHeader('ETag') === true && Reflect.get(prototype, 'fresh', this) === true;
    },
  });
}

function configureServer(
  server: Server,
  { keepAliveSeconds, readerIdleMs = READER_IDLE_MS }: ConnectionLimits,
  metrics: Metrics,
): void {
  disconnectIdleReaders(server, readerIdleMs);
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = keepAliveSeconds * 1000;
  respondToMalformedRequests(server, metrics);
  // Serve requests with an unknown `Expect` header, which Node would reject with an empty 417.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/** Resets the connection of a client that does not read its response. A reset also frees kernel buffers. */
function disconnectIdleReaders(server: Server, readerIdleMs: number): void {
  server.setTimeout(readerIdleMs, (socket: Socket) => {
    if (socket.writableLength > 0) socket.resetAndDestroy();
    // Any other timeout is Node's keep-alive timeout, so the connection has been idle.
    else if (socket.timeout !== readerIdleMs) socket.destroy();
  });
}
