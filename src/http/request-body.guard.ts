import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { parseBody, receiveBody } from './request-body';

/**
 * Reads the body and admits every request. It has to be the last guard, so that a caller without access is
 * refused before anything is read. An interceptor would cost every request without a body as much as the
 * look-up of its token.
 */
@Injectable()
export class RequestBodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    return request.method === 'GET' || request.method === 'HEAD' || readBody(request);
  }
}

async function readBody(request: Request): Promise<boolean> {
  request.body = parseBody(await receiveBody(request), request.headers['content-type']);
  return true;
}
