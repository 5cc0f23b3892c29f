import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { MAX_BODY_BYTES, parseBody, receiveBody } from './request-body';
import { readInput } from './validation/read-input';
import { type RouteInput, routeInput } from './validation/route-input';

const MOST = 'max-body-bytes';

/** Bounds the body that a route takes. */
export const MaxBodyBytes = (bytes: number) => SetMetadata(MOST, bytes);

/**
 * Receives the body, and reads all that the route takes at once, so that a 422 response names all mistakes;
 * a pipe would know one place only. It has to be the last guard: a caller without access is refused before
 * anything is read. An interceptor would cost every request without a body as much as the look-up of its
 * token.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const input = routeInput(context.getClass(), context.getHandler());
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (input) readInput(input, request);
      return true;
    }
    const most = Reflect.getMetadata(MOST, context.getHandler()) as number | undefined;
    return readBody(request, most ?? MAX_BODY_BYTES, input);
  }
}

async function readBody(request: Request, maxBytes: number, input: RouteInput | null): Promise<boolean> {
  // As with FastAPI, a body that is no JSON is the only mistake named.
  request.body = parseBody(await receiveBody(request, maxBytes), request.headers['content-type']);
  if (input) readInput(input, request);
  return true;
}
