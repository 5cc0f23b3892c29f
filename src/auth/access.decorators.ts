import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { MaxBodyBytes } from '../http';
import { isStaffScope, type Scope } from './scopes';
import type { Caller } from './tokens.service';

export const ACCESS = 'access';

/**
 * Security schemes of the two OpenAPI documents. Swagger UI stores tokens in the browser under these names.
 * If both documents used one name, the customers' page would send the token of a member of staff.
 */
export const CUSTOMERS_SCHEME = 'bearer';
export const STAFF_SCHEME = 'staff';

export type Access =
  | { readonly public: true; readonly takesBody: boolean }
  /** `null` allows any valid token, because the handler decides what its scopes allow. */
  | { readonly public: false; readonly scope: Scope | null };

/**
 * Marks a route that needs no token.
 *
 * @param maxBodyBytes required for a route with a body. Failed requests to such a route count against their
 *   address, and an address with too many of them is refused before its body is read
 */
export const Public = ({ maxBodyBytes }: { readonly maxBodyBytes?: number } = {}) =>
  applyDecorators(
    SetMetadata<string, Access>(ACCESS, { public: true, takesBody: maxBodyBytes !== undefined }),
    ...(maxBodyBytes === undefined ? [] : [MaxBodyBytes(maxBodyBytes)]),
  );

/** Marks a route that needs a token with this scope. `@Route` and `@StaffRoute` apply it. */
export const Scopes = (scope: Scope) =>
  applyDecorators(
    SetMetadata<string, Access>(ACCESS, { public: false, scope }),
    ApiSecurity(isStaffScope(scope) ? STAFF_SCHEME : CUSTOMERS_SCHEME, [scope]),
  );

/** Marks a route that needs a valid token with any scopes, because its handler checks the scopes. */
export const AnyToken = () => SetMetadata<string, Access>(ACCESS, { public: false, scope: null });

export const REPLAYS = 'replays';

/**
 * Marks a route that replays a known `Idempotency-Key` even if the caller's limit is reached. The route must
 * throw {@link Caller.overLimit} if the key is new.
 */
export const ReplaysOverLimit = () => SetMetadata<string, true>(REPLAYS, true);

/** Returns the owner of the request's token. */
export function callerOf(request: Request & { user?: Caller }): Caller {
  if (!request.user) throw new Error('a public route has no caller');
  return request.user;
}

/** Injects the caller, who is the user with the rights of their token. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest()),
);

export const CurrentUserId = createParamDecorator(
  (_: unknown, context: ExecutionContext): number => callerOf(context.switchToHttp().getRequest()).userId,
);
