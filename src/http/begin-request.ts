import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { chooseRequestId, type RequestContext, runInRequest } from '../common';

const logger = new Logger('Http');

/** Gives the request an id, for its answer and its log lines, and logs the request once it has ended. */
export function beginRequest(request: Request, response: Response): RequestContext {
  const context: RequestContext = { requestId: chooseRequestId(request.get('x-request-id')) };
  const startedMs = performance.now();
  response.setHeader('X-Request-Id', context.requestId);
  response.on('close', () => {
    runInRequest(context, () => logRequest(request, response, performance.now() - startedMs, context));
  });
  return context;
}

/** Logs the path without the query, because some callers put secrets there. */
function logRequest(
  request: Request,
  response: Response,
  elapsedMs: number,
  { userId, tokenId, issuedBy }: RequestContext,
): void {
  const { method, path } = request;
  const status = response.writableFinished ? response.statusCode : 'aborted';
  const durationMs = Math.round(elapsedMs);
  const caller = {
    ...(userId !== undefined && { userId }),
    ...(tokenId !== undefined && { tokenId }),
    ...(issuedBy !== undefined && { issuedBy }),
  };
  const line = { method, path, status, durationMs, ...caller };
  logger.log('request', line);
}
