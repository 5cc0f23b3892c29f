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
  /** For example `users.block`. Also the operation id in the API description. */
  readonly action: string;
  /** Type of the target whose id the path contains. */
  readonly on?: TargetType;
}

export type AuditedRequest = (Request | CommandRequest) & { user?: Caller; audit?: AuditContext };

/**
 * Records each read before its response is sent, so that staff see nothing unrecorded. Does not record
 * changes: they are recorded in their own transactions.
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
