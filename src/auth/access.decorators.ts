import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { MaxBodyBytes } from '../http';
import { isStaffScope, type Scope } from './scopes';
import type { Caller } from './tokens.service';

export const ACCESS = 'access';

/**
 * The two names must differ, because Swagger UI stores tokens by name. With a shared name, the customers'
 * page would send a staff token.
 */
export const CUSTOMERS_SCHEME = 'bearer';
export const STAFF_SCHEME = 'staff';

export type Access =
  | { readonly public: true; readonly takesBody: boolean }
  /** `null` allows any valid token; the handler then checks the token's scopes. */
  | { readonly public: false; readonly scope: Scope | null; readonly acceptsOAuth?: boolean };

/**
 * Marks a route that needs no token. Its failed requests count against the client's address.
 * @param maxBodyBytes required for a route with a body
 */
export const Public = ({ maxBodyBytes }: { readonly maxBodyBytes?: number } = {}) =>
  applyDecorators(
    SetMetadata<string, Access>(ACCESS, { public: true, takesBody: maxBodyBytes !== undefined }),
    ...(maxBodyBytes === undefined ? [] : [MaxBodyBytes(maxBodyBytes)]),
  );

/** `@Route` and `@StaffRoute` apply this decorator. */
export const Scopes = (scope: Scope) =>
  applyDecorators(
    SetMetadata<string, Access>(ACCESS, { public: false, scope }),
    ApiSecurity(isStaffScope(scope) ? STAFF_SCHEME : CUSTOMERS_SCHEME, [scope]),
  );

/** @param acceptsOAuth whether to accept OAuth clients' tokens, which all other routes refuse */
export const AnyToken = ({ acceptsOAuth = false } = {}) =>
  SetMetadata<string, Access>(ACCESS, { public: false, scope: null, acceptsOAuth });

export const REPLAYS = 'replays';

/**
 * Admits a request over the limit, because it may be a replay. If its Idempotency-Key is new, the route must
 * throw `Caller.overLimit`.
 */
export const ReplaysOverLimit = () => SetMetadata<string, true>(REPLAYS, true);

export function callerOf(request: Request & { user?: Caller }): Caller {
  if (!request.user) throw new Error('a public route has no caller');
  return request.user;
}

export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest()),
);

export const CurrentUserId = createParamDecorator(
  (_: unknown, context: ExecutionContext): number => callerOf(context.switchToHttp().getRequest()).userId,
);
