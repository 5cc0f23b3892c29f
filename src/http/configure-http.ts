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
 * Longer than a network delays a reader that is still connected. It is shorter than any `keepAliveSeconds`,
 * because the length of a socket's timeout shows which of the two it is.
 */
const READER_IDLE_MS = 10_000;

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** How long an idle connection is kept. */
  readonly keepAliveSeconds: number;
  /** A client that stops reading is disconnected after this time, or twice this time at most. */
  readonly readerIdleMs?: number | undefined;
  /** Their `X-Forwarded-For` is trusted, and their connections are not bounded by address. */
  readonly trustedProxies: readonly string[];
  /** Called when a connection is closed because of a bound. */
  readonly onFull?: (closed: ClosedConnections) => void;
}

/**
 * Gives an application its HTTP behaviour: validation, errors, request ids, access log, headers and time
 * limits. `RequestInputGuard` reads requests. Call this before `init()`, `listen()` and any other
 * middleware, on an application created with `bodyParser: false`.
 *
 * @param isUnavailable recognises failures of a dependency such as the database, which return 503
 * @param metrics counts the requests
 */
export function configureHttp(
  app: NestExpressApplication,
  limits: ConnectionLimits,
  isUnavailable: (error: unknown) => boolean = () => false,
  metrics = Metrics.off,
): void {
  const express = app.getHttpAdapter().getInstance() as Application;
  // Nest has already made Express build its router, so the setting `case sensitive routing` comes too late.
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

/** Responses are data and load nothing. Pages replace this policy. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/** TLS, if any, ends at a reverse proxy, which decides about Strict-Transport-Security. */
const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: NOTHING_IS_LOADED,
});

/** A single middleware, because the router takes longer than each of its parts. */
const prepareRequest =
  (metrics: Metrics) =>
  (request: Request, response: Response, next: NextFunction): void => {
    beginRequest(request, response, metrics, () => {
      // `fresh`, which Express and `send` use, ignores conditions if the client sends `no-cache`. That only
      // requests validation (RFC 9111, 5.2.1.4), and fetch adds it to each conditional request.
      delete request.headers['cache-control'];
      // Apache appends this to the tags of responses that it compresses.
      const known = request.headers['if-none-match'];
      if (known !== undefined) request.headers['if-none-match'] = known.replaceAll('-gzip"', '"');
      request.url = toNormalUrl(request.url);
      securityHeaders(request, response, next);
    });
  };

/** For Express, `If-None-Match: *` matches any response: it returns 304 even for one without an ETag. */
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
  // Node would reject an unknown `Expect` header with an empty 417. It is ignored instead.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/**
 * Resets connections on which a response waits and makes no progress, which frees the system's buffers too.
 * Receiving a request has other time limits, and serving it is not limited here.
 */
function disconnectIdleReaders(server: Server, readerIdleMs: number): void {
  server.setTimeout(readerIdleMs, (socket: Socket) => {
    if (socket.writableLength > 0) socket.resetAndDestroy();
    // Between requests, Node sets the longer time for which a connection is kept.
    else if (socket.timeout !== readerIdleMs) socket.destroy();
  });
}
