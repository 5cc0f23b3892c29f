import { Logger } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { chooseRequestId, type RequestContext, runInRequest } from '../common';

const logger = new Logger('Http');

/** Gives the request its id, on the answer and on every log line, and logs the request once it is over. */
export function identifyRequest(request: Request, response: Response, next: NextFunction): void {
  const context: RequestContext = { requestId: chooseRequestId(request.get('x-request-id')) };
  const startedMs = performance.now();
  response.setHeader('X-Request-Id', context.requestId);
  response.once('close', () => {
    runInRequest(context, () => logRequest(request, response, performance.now() - startedMs, context.userId));
  });
  runInRequest(context, next);
}

/** The path without its query: callers put secrets there, though they should not. */
function logRequest(
  request: Request,
  response: Response,
  elapsedMs: number,
  userId: string | undefined,
): void {
  const { method, path } = request;
  const status = response.writableFinished ? response.statusCode : 'aborted';
  const durationMs = Math.round(elapsedMs);
  const line = { method, path, status, durationMs, ...(userId !== undefined && { userId }) };
  logger.log('request', line);
}
