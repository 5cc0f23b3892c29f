import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable, tap } from 'rxjs';
import { type Caller, callerOf } from '../../auth';
import { plainAddress, requestId } from '../../common';
import { markReplay, readId } from '../../http';
import { AuditContext, ID_PARAMETERS, type TargetType, toRecordable } from './audit-context';
import { AuditLogService } from './audit-log.service';
import { CommandRequest } from './command-request';

export const AUDITED_ROUTE = 'audited-route';

export interface AuditedRoute {
  /** The name of the action, `users.block`; also the operation id in the description. */
  readonly action: string;
  /** The target, when the path has its id. */
  readonly on?: TargetType;
}

export type AuditedRequest = (Request | CommandRequest) & { user?: Caller; audit?: AuditContext };

/**
 * Records every request of staff. A change has recorded itself in its own transaction; a read is recorded
 * here, before the response is sent, so that staff see nothing that is not recorded. Refusals are recorded,
 * too: they may show how much is left to refund, or that a user does not exist. Requests that were not
 * authorised or not valid never reached their target and are not recorded.
 *
 * A response that says that it was `replayed` is marked by the header, too.
 */
@Injectable()
export class AuditLogInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly auditLog: AuditLogService,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<AuditedRequest>();
    const audit = auditContextOf(
      request,
      this.reflector.get<AuditedRoute>(AUDITED_ROUTE, context.getHandler()),
    );
    request.audit = audit;
    const recorded = this.auditLog.recordRequest(audit, () => lastValueFrom<unknown>(next.handle()));
    return from(recorded).pipe(
      tap((body) => {
        const isReplay = typeof body === 'object' && body !== null && 'replayed' in body && body.replayed;
        markReplay(context.switchToHttp().getResponse<Response>(), isReplay === true);
      }),
    );
  }
}

export function auditContextOf(request: AuditedRequest, { action, on }: AuditedRoute): AuditContext {
  const { params, query, body, ip } = request;
  const id = on && readId(String(params[ID_PARAMETERS[on]]));
  return new AuditContext(
    action,
    on && id ? { type: on, id } : null,
    toRecordable({ ...query, ...(typeof body === 'object' && body) }),
    request instanceof CommandRequest ? null : callerOf(request),
    plainAddress(ip),
    requestId() ?? null,
    request instanceof CommandRequest ? request.by : undefined,
  );
}
