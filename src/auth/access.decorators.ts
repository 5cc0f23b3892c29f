import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiErrorResponse } from '../http';
import { isStaffScope, type Scope } from './scopes';
import type { Caller } from './tokens.service';

export const ACCESS = 'access';

/**
 * Names of the tokens in the descriptions. Swagger UI keeps tokens in the browser by these, for both of its
 * pages: under one name, that of customers would send the token of staff, which may be good for buying.
 */
export const CUSTOMERS_SCHEME = 'bearer';
export const STAFF_SCHEME = 'staff';

/** What a route asks of its caller. */
export type Access = { readonly public: true } | { readonly public: false; readonly scope: Scope };

/** The route needs no token. */
export const Public = () => SetMetadata<string, Access>(ACCESS, { public: true });

/** The route needs a token with this scope; also says so in the description. */
export const Scopes = (scope: Scope) =>
  applyDecorators(
    SetMetadata<string, Access>(ACCESS, { public: false, scope }),
    ApiSecurity(isStaffScope(scope) ? STAFF_SCHEME : CUSTOMERS_SCHEME, [scope]),
    ApiErrorResponse(
      401,
      'No token, or one that is unknown, expired or revoked',
      'Not authenticated',
      'Invalid or expired token',
    ),
    ApiErrorResponse(
      403,
      `The token lacks \`${scope}\``,
      'Not enough permissions',
      'Address not allowed',
      'User is blocked',
    ),
  );

/** Whose token came with the request. */
export function callerOf(request: Request & { user?: Caller }): Caller {
  if (!request.user) throw new Error('a route that is public asks for its user');
  return request.user;
}

/** Who makes the request, and with which token. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest()),
);

/** The id of the user whose token came with the request. */
export const CurrentUserId = createParamDecorator(
  (_: unknown, context: ExecutionContext): number => callerOf(context.switchToHttp().getRequest()).userId,
);
