import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { chooseRequestId, type RequestContext, runInRequest } from '../common';
import type { Metrics } from '../metrics';
import { countRequest } from './request-metrics';
import { withoutSecrets } from './request-url';

const logger = new Logger('Http');

/** Gives the request an id, for its answer and its log lines, and logs and counts it once it has ended. */
export function beginRequest(request: Request, response: Response, metrics: Metrics): RequestContext {
  const context: RequestContext = { requestId: chooseRequestId(request.get('x-request-id')) };
  const startedMs = performance.now();
  response.setHeader('X-Request-Id', context.requestId);
  response.on('close', () => {
    const elapsedMs = performance.now() - startedMs;
    countRequest(metrics, request, response, elapsedMs);
    runInRequest(context, () => logRequest(request, response, elapsedMs, context));
  });
  return context;
}

/** Logs the path without the query and without secrets: some callers put theirs there. */
function logRequest(
  request: Request,
  response: Response,
  elapsedMs: number,
  { userId, tokenId, issuedBy, linkId }: RequestContext,
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
  };
  const line = { method, path, status, durationMs, ...caller };
  logger.log('request', line);
}
