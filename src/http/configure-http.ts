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
 * Milliseconds without progress after which a client that does not read its response is disconnected.
 * `keepAliveSeconds` is always longer, so a socket's timeout shows which of these limits applies.
 */
const READER_IDLE_MS = 10_000;

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** Time after which an idle connection is closed. */
  readonly keepAliveSeconds: number;
  /** Time after which a client that stops reading is disconnected; in practice, up to twice this time. */
  readonly readerIdleMs?: number | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted, and whose connections are not limited by address. */
  readonly trustedProxies: readonly string[];
  /** Called when a connection is closed because of a limit. */
  readonly onFull?: (closed: ClosedConnections) => void;
}

/**
 * Configures an application's HTTP: validation, errors, request ids, access log, headers and timeouts. Must
 * be called before `init()`, `listen()` and any other middleware. The application must have `bodyParser:
 * false`, because `RequestInputGuard` reads the requests.
 * @param isUnavailable recognises failures of a dependency such as the database, which return 503
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

/** Content security policy for data: nothing may be loaded. Pages replace this policy. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/** Sets the security headers except Strict-Transport-Security, because a reverse proxy terminates TLS. */
const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: NOTHING_IS_LOADED,
});

/** Does all this in one middleware, because routing to a middleware takes longer than any of these steps. */
const prepareRequest =
  (metrics: Metrics) =>
  (request: Request, response: Response, next: NextFunction): void => {
    beginRequest(request, response, metrics, () => {
      // Express ignores conditional headers in requests with `no-cache`, which fetch sends. Per RFC 9111,
      // section 5.2.1.4, `no-cache` only requires validation.
      delete request.headers['cache-control'];
      // Apache appends `-gzip` to the ETag of a response that it compresses.
      const known = request.headers['if-none-match'];
      if (known !== undefined) request.headers['if-none-match'] = known.replaceAll('-gzip"', '"');
      request.url = toNormalUrl(request.url);
      securityHeaders(request, response, next);
    });
  };

/** Keeps Express from returning 304 for responses without an ETag, as it does for `If-None-Match: *`. */
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
  // Ignores unknown `Expect` headers, for which Node would return an empty 417.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/** Resets a connection whose client does not read its response: a reset frees the system's buffers. */
function disconnectIdleReaders(server: Server, readerIdleMs: number): void {
  server.setTimeout(readerIdleMs, (socket: Socket) => {
    if (socket.writableLength > 0) socket.resetAndDestroy();
    // Between requests, Node sets the longer keep-alive timeout, so this connection was idle.
    else if (socket.timeout !== readerIdleMs) socket.destroy();
  });
}
