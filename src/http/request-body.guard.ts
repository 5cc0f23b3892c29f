import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { MAX_BODY_BYTES, parseBody, receiveBody } from './request-body';

const MOST = 'max-body-bytes';

/** Bounds the body that a route takes. */
export const MaxBodyBytes = (bytes: number) => SetMetadata(MOST, bytes);

/**
 * Reads the body and admits every request. It has to be the last guard, so that a caller without access is
 * refused before anything is read. An interceptor would cost every request without a body as much as the
 * look-up of its token.
 */
@Injectable()
export class RequestBodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (request.method === 'GET' || request.method === 'HEAD') return true;
    const most = Reflect.getMetadata(MOST, context.getHandler()) as number | undefined;
    return readBody(request, most ?? MAX_BODY_BYTES);
  }
}

async function readBody(request: Request, maxBytes: number): Promise<boolean> {
  request.body = parseBody(await receiveBody(request, maxBytes), request.headers['content-type']);
  return true;
}
