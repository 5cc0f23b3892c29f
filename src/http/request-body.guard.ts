import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { parseBody, receiveBody } from './request-body';

/**
 * Reads the body, and lets everybody through. To be the last of the guards: a caller who may not call has nothing read, and is told so
 * first. (An interceptor would cost every request without a body as much as its token does.)
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
