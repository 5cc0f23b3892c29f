import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { chooseRequestId, type RequestContext, runInRequest, withoutSecretWords } from '../common';
import type { Metrics } from '../metrics';
import { beginRequestSpan, type OpenSpan } from '../tracing';
import { endUnlessComplete } from './end-soon';
import { countRequest, routeTemplate } from './request-metrics';
import { withoutSecrets } from './request-url';

const logger = new Logger('Http');

/** Runs `goOn` with a request id and a trace span. When the request ends, logs and counts it. */
export function beginRequest(request: Request, response: Response, metrics: Metrics, goOn: () => void): void {
  const requestId = chooseRequestId(request.get('x-request-id'));
  const context: RequestContext = { requestId: withoutSecretWords(requestId) };
  const span = beginRequestSpan(request.method, () => request.get('traceparent'));
  if (span?.traceId !== undefined) context.traceId = span.traceId;
  const startedMs = performance.now();
  response.setHeader('X-Request-Id', requestId);
  response.on('close', () => {
    const elapsedMs = performance.now() - startedMs;
    endUnlessComplete(request);
    if (span) endSpan(span, request, response, context);
    countRequest(metrics, request, response, elapsedMs);
    runInRequest(context, () => logRequest(request, response, elapsedMs, context));
  });
  runInRequest(context, () => (span ? span.run(goOn) : goOn()));
}

/** Ends a span. Records the route template, because a path may contain secrets. */
function endSpan(span: OpenSpan, request: Request, response: Response, { userId }: RequestContext): void {
  span.end({
    'http.request.method': request.method,
    'http.route': routeTemplate(request),
    ...(userId !== undefined && { 'user.id': userId }),
    ...(response.writableFinished
      ? { 'http.response.status_code': response.statusCode }
      : { 'error.type': 'aborted' }),
    ...(response.statusCode >= 500 && { 'error.type': String(response.statusCode) }),
  });
}

function logRequest(
  request: Request,
  response: Response,
  elapsedMs: number,
  { userId, tokenId, issuedBy, linkId, tool }: RequestContext,
): void {
  const { method } = request;
  const path = withoutSecrets(request.path);
  const status = response.writableFinished ? response.statusCode : 'aborted';
  const durationMs = Math.round(elapsedMs);
  const caller = {
    ...(userId !== undefined && { userId }),
    ...(tokenId !== undefined && { tokenId }),
    ...(issuedBy !== undefined && { issuedBy }),
    ...(linkId !== undefined && { linkId }),
    ...(tool !== undefined && { tool }),
  };
  const line = { method, path, status, durationMs, ...caller };
  logger.log('request', line);
}
