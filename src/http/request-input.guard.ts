import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { MAX_BODY_BYTES, parseBody, receiveBody } from './request-body';
import { readInput } from './validation/read-input';
import { type RouteInput, routeInput } from './validation/route-input';

const MOST = 'max-body-bytes';

/** The bodies of requests that are being served. */
const received = new WeakMap<Request, Buffer>();

/** The body as it was sent: a signature is about these bytes. */
export const receivedBytes = (request: Request): Buffer => received.get(request) ?? Buffer.alloc(0);

export const MaxBodyBytes = (bytes: number) => SetMetadata(MOST, bytes);

/**
 * Receives the body, and reads path, query, headers and body together, so that a 422 response lists all
 * mistakes; a pipe sees only one place. It has to be the last guard: a caller without access is refused
 * before anything is read. An interceptor would cost every request without a body as much as its token
 * lookup.
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
  const bytes = await receiveBody(request, maxBytes);
  received.set(request, bytes);
  // As in FastAPI, a body that is not JSON is the only mistake listed.
  request.body = parseBody(bytes, request.headers['content-type']);
  if (input) readInput(input, request);
  return true;
}
