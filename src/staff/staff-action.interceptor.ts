import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { type Caller, callerOf, plainAddress } from '../auth';
import { requestId } from '../common';
import { readId } from '../http';
import { Act, loggable } from './act';
import { STAFF_ACTION, type StaffActionOfRoute } from './staff-action';
import { StaffLog } from './staff-log';

type StaffRequest = Request & { user?: Caller; act?: Act };

/**
 * Has everything that staff see or do in the log: what the route did not write with its change is written here, before the answer goes out.
 * Should that fail, so does the request. What is refused is not written: nothing was done or shown.
 */
@Injectable()
export class StaffActionInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly log: StaffLog,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<StaffRequest>();
    const route = this.reflector.get<StaffActionOfRoute>(STAFF_ACTION, context.getHandler());
    const act = toAct(request, route);
    request.act = act;
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        if (!act.isLogged) await this.log.read(act);
        return answer;
      }),
    );
  }
}

function toAct(request: StaffRequest, { action, on }: StaffActionOfRoute): Act {
  const { params, query, body, ip } = request;
  const id = on && readId(String(params[on[1]]));
  return new Act(
    action,
    on && id ? { type: on[0], id } : null,
    loggable({ ...query, ...(typeof body === 'object' && body) }),
    callerOf(request),
    plainAddress(ip),
    requestId() ?? null,
  );
}
