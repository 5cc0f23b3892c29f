import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Route, type RouteOptions, type StaffScope, StaffScopesForAnother } from '../auth';
import type { DomainError } from '../common';
import { ApiIdParam, type ErrorsOfStatus, RefuseStrayQuery } from '../http';
import { type AuditContext, ID_PARAMETERS } from './audit-log/audit-context';
import {
  AUDITED_ROUTE,
  type AuditedRequest,
  type AuditedRoute,
  AuditLogInterceptor,
} from './audit-log/audit-log.interceptor';
import { OwnAccount } from './staff.errors';

interface StaffRouteOptions extends RouteOptions, AuditedRoute {
  readonly scope: StaffScope;
  /** Must begin by saying who uses the route, and for what. */
  readonly description: string;
}

export const StaffRoute = ({ action, on, ...route }: StaffRouteOptions): MethodDecorator =>
  applyDecorators(
    RefuseStrayQuery(),
    Route({ ...route, operationId: action }),
    SetMetadata<string, AuditedRoute>(AUDITED_ROUTE, on ? { action, on } : { action }),
    UseInterceptors(AuditLogInterceptor),
    // No example: Swagger UI would fill it in, and staff must not block user 42 by accident.
    ...(on ? [ApiIdParam(ID_PARAMETERS[on], `Id of the ${on.replace('-', ' ')}`)] : []),
  );

export const OWN_ACCOUNT_ERRORS: ErrorsOfStatus = ['the request would change your own account', OwnAccount];

/** For routes that take rights away from a user. */
export const STAFF_USER_ERRORS: ErrorsOfStatus = ['it lacks `staff:grant`', StaffScopesForAnother];

export function notFound(...errors: readonly (new () => DomainError)[]): ErrorsOfStatus {
  const entities = errors.map((NotFound) => new NotFound().detail.toLowerCase().replace(' not found', ''));
  return [`There is no such ${entities.join(', or no such ')}`, ...errors];
}

// No example: if staff kept the example's key, a second posting would count as a retry of the first.
export const POSTING_KEY = {
  required: true,
  description:
    'Makes the request safe to retry: it is executed once per key. Each staff member has their own ' +
    'keys; use a new one for each posting. Each retry returns the same entry, `"replayed": true` and ' +
    '`Idempotency-Replayed: true`. Retry after a 5xx or a lost connection.',
};

export const CurrentAudit = createParamDecorator((_: unknown, context: ExecutionContext): AuditContext => {
  const { audit } = context.switchToHttp().getRequest<AuditedRequest>();
  if (!audit) throw new Error('a route without @StaffRoute injects its audit context');
  return audit;
});
