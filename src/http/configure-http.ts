import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application, NextFunction, Request, Response } from 'express';
import { Metrics } from '../metrics';
import { beginRequest } from './begin-request';
import { preferFixedPaths } from './errors/allowed-methods';
import { ErrorFilter } from './errors/error.filter';
import { answerMalformedRequests } from './errors/malformed-requests';
import { HttpAdapter } from './http-adapter';
import { atMostEachMinute } from './rare-warning';
import { parseQuery, toNormalUrl } from './request-url';
import { securityHeaders } from './security-headers';
import { RequestValidationPipe } from './validation/request-validation.pipe';

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the minute for which load balancers usually keep a connection, so that they close it first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/**
 * Longer than any network keeps a reader waiting that is still there. It is below KEEP_ALIVE_TIMEOUT_MS, from
 * which it is told apart by its length.
 */
const READER_IDLE_MS = 10_000;

/** What clients may occupy. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  /** A client that takes nothing of an answer is disconnected after this time, or twice this time at most. */
  readonly readerIdleMs?: number | undefined;
  /** Behind one, all clients have its address. With none, an address has a part of the connections. */
  readonly trustedProxies: readonly string[];
}

/** Of `maxConnections`. */
const PART_OF_ADDRESS = 0.5;

/**
 * Gives an application its HTTP behaviour: validation, errors, request ids, access log, headers and time
 * limits. `RequestInputGuard` reads requests. Call this before `init()`, `listen()` and any other
 * middleware, on an application created with `bodyParser: false`.
 *
 * @param limits what clients may occupy
 * @param isUnavailable recognises failures of a dependency such as the database, which are answered 503
 * @param metrics counts the requests
 * @param hidesPayments whether words of payments are unknown to all requests
 */
export function configureHttp(
  app: NestExpressApplication,
  limits: ConnectionLimits,
  isUnavailable: (error: unknown) => boolean = () => false,
  metrics = Metrics.off,
  hidesPayments = true,
): void {
  const express = app.getHttpAdapter().getInstance() as Application;
  // Nest has already made Express build its router, so the setting `case sensitive routing` comes too late.
  Object.assign(express.router, { caseSensitive: true });
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);
  neverFreshWithoutTag(express);
  preferFixedPaths(express, 'proxy_id');

  app.use(prepareRequest({ metrics, hidesPayments }));
  app.useGlobalFilters(new ErrorFilter(isUnavailable));
  app.useGlobalPipes(new RequestValidationPipe());

  configureServer(app.getHttpServer(), limits, metrics);
  const adapter = app.getHttpAdapter();
  if (adapter instanceof HttpAdapter && limits.trustedProxies.length === 0) {
    adapter.boundAddresses(Math.ceil(limits.maxConnections * PART_OF_ADDRESS));
  }
}

/** One middleware does all, because the router takes longer than each part of it. */
const prepareRequest =
  (measured: { readonly metrics: Metrics; readonly hidesPayments: boolean }) =>
  (request: Request, response: Response, next: NextFunction): void => {
    beginRequest(request, response, measured, () => {
      // `fresh`, which Express and `send` use, sends everything again to a client that says `no-cache`. That
      // asks a cache to validate (RFC 9111, 5.2.1.4), and fetch says it with each condition of a caller.
      delete request.headers['cache-control'];
      request.url = toNormalUrl(request.url);
      securityHeaders(request, response, next);
    });
  };

/** Express takes `If-None-Match: *` for a match with any answer, and makes a 304 even of one without ETag. */
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
  { maxConnections, readerIdleMs = READER_IDLE_MS }: ConnectionLimits,
  metrics: Metrics,
): void {
  server.maxConnections = maxConnections;
  logRefusedConnections(server);
  disconnectIdleReaders(server, readerIdleMs);
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  answerMalformedRequests(server, metrics);
  // Node would answer an unknown `Expect` header with an empty 417. It is ignored instead.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/**
 * Resets connections on which an answer waits and makes no progress, which frees the system's buffers too. A
 * request that is being received has time limits of its own, and one that is being served may take its time.
 */
function disconnectIdleReaders(server: Server, readerIdleMs: number): void {
  server.setTimeout(readerIdleMs, (socket: Socket) => {
    if (socket.writableLength > 0) socket.resetAndDestroy();
    // Between requests, Node sets the longer time for which a connection is kept.
    else if (socket.timeout !== readerIdleMs) socket.destroy();
  });
}

function logRefusedConnections(server: Server): void {
  const logger = new Logger('Http');
  const warn = atMostEachMinute((message) => logger.warn(message));
  server.on('drop', () => warn(`connections are refused: there are ${server.maxConnections} already`));
}
