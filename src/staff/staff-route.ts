import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import type { Request } from 'express';
import { Scopes, type StaffScope } from '../auth';
import type { Act } from './act';
import { STAFF_ACTION, type StaffActionOfRoute } from './staff-action';
import { StaffActionInterceptor } from './staff-action.interceptor';

/** A route of staff: the scope it needs, what the log calls it, and what it is for. */
export const StaffRoute = (route: {
  readonly scope: StaffScope;
  readonly action: string;
  readonly on?: StaffActionOfRoute['on'];
  readonly summary: string;
  readonly description: string;
}) => {
  const { scope, action, on, summary, description } = route;
  return applyDecorators(
    Scopes(scope),
    SetMetadata<string, StaffActionOfRoute>(STAFF_ACTION, { action, ...(on && { on }) }),
    UseInterceptors(StaffActionInterceptor),
    ApiOperation({ operationId: action, summary, description }),
  );
};

/** What is being done, for the service that does it. */
export const CurrentAct = createParamDecorator((_: unknown, context: ExecutionContext): Act => {
  const { act } = context.switchToHttp().getRequest<Request & { act?: Act }>();
  if (!act) throw new Error('a route without @StaffRoute asks for its act');
  return act;
});
