import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Scopes, type StaffScope } from '../auth';
import { ApiIdParam, RefuseStrayQuery } from '../http';
import type { AuditContext } from './audit-log/audit-context';
import {
  AUDITED_ROUTE,
  type AuditedRequest,
  type AuditedRoute,
  AuditLogInterceptor,
  ID_PARAMETERS,
} from './audit-log/audit-log.interceptor';

/** Marks a route of staff: the scope that it needs, and what the audit log says of it. */
export const StaffRoute = ({ scope, ...route }: { readonly scope: StaffScope } & AuditedRoute) =>
  applyDecorators(
    Scopes(scope),
    SetMetadata<string, AuditedRoute>(AUDITED_ROUTE, route),
    RefuseStrayQuery(),
    UseInterceptors(AuditLogInterceptor),
    ApiOperation({ operationId: route.action }),
    // Without an example, which Swagger UI would fill in: nobody is to block user 42 by accident.
    ...(route.on ? [ApiIdParam(ID_PARAMETERS[route.on], `Id of the ${route.on.replace('-', ' ')}`)] : []),
  );

/** The audit context of the request, for the service that carries out a change. */
export const CurrentAudit = createParamDecorator((_: unknown, context: ExecutionContext): AuditContext => {
  const { audit } = context.switchToHttp().getRequest<AuditedRequest>();
  if (!audit) throw new Error('a route without @StaffRoute asks for its audit context');
  return audit;
});
