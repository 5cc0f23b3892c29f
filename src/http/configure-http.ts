import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application } from 'express';
import helmet from 'helmet';
import { identifyRequest } from './access-log.middleware';
import { ErrorFilter } from './error.filter';
import { answerMalformedRequests } from './malformed-requests';
import { normaliseUrl, parseQuery } from './request-url';
import { RequestValidationPipe } from './validation/request-validation.pipe';

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the minute that load balancers commonly keep a connection, so that it is they who close it. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** What is answered is data. What is a page says for itself what it loads. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/**
 * Gives an application its HTTP behaviour: validation, errors, request ids, access log, headers, time limits; bodies are read by
 * `RequestBodyGuard`. Before
 * `init()` or `listen()`, before any other middleware, on an application created with `bodyParser: false`.
 *
 * @param isUnavailable tells the failures of what the application stands on, its database for one: they are answered 503
 */
export function configureHttp(
  app: NestExpressApplication,
  isUnavailable: (error: unknown) => boolean = () => false,
): void {
  const express = app.getHttpAdapter().getInstance() as Application;
  // Nest has made Express build its router by now, too early for the setting of the same name.
  Object.assign(express.router, { caseSensitive: true });
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', parseQuery);

  app.use(identifyRequest, normaliseUrl);
  // TLS, if any, ends before this service: whether to insist on it isn't known here.
  app.use(
    helmet({
      strictTransportSecurity: false,
      contentSecurityPolicy: NOTHING_IS_LOADED,
    }),
  );
  app.useGlobalFilters(new ErrorFilter(isUnavailable));
  app.useGlobalPipes(new RequestValidationPipe());

  configureServer(app.getHttpServer());
}

function configureServer(server: Server): void {
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  answerMalformedRequests(server);
  // Node would answer an `Expect` it doesn't know with an empty 417; it is better ignored.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}
