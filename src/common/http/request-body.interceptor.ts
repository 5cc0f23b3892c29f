import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';

import { parseBody, receiveBody } from './request-body';

/** Reads the body only now, after the guards: a caller who may not call has nothing read, and is told so first. */
@Injectable()
export class RequestBodyInterceptor implements NestInterceptor {
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Request>();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      request.body = parseBody(await receiveBody(request), request.headers['content-type']);
    }
    return next.handle();
  }
}
