import { applyDecorators } from '@nestjs/common';
import {
  describeRoute,
  type ErrorsOfStatus,
  rateLimitHeaders,
  type RouteDescription,
  TooManyRequests,
} from '../http';
import { Scopes } from './access.decorators';
import {
  AddressNotAllowed,
  InvalidToken,
  NotAuthenticated,
  NotEnoughPermissions,
  UserBlocked,
} from './auth.errors';
import type { Scope } from './scopes';

export interface RouteOptions extends RouteDescription {
  /** Omitted for a route with `@Public()`. */
  readonly scope?: Scope;
  /** For 403 and 429, the text continues the sentence `The token lacks the scope, or …`. */
  readonly errors?: NonNullable<RouteDescription['errors']>;
}

/** Must be placed below `@Get()` and similar decorators. */
export function Route({ scope, ...route }: RouteOptions): MethodDecorator {
  if (scope === undefined) return describeRoute(route);
  const { errors = {}, errorHeaders } = route;
  return applyDecorators(
    Scopes(scope),
    describeRoute({
      ...route,
      errors: { ...errors, ...errorsOfToken(scope, errors) },
      errorHeaders: { 429: LIMITS_OF_TOKENS, ...errorHeaders },
    }),
  );
}

function errorsOfToken(scope: Scope, { 403: forbidden, 429: tooMany }: NonNullable<RouteOptions['errors']>) {
  return {
    401: ['The token is missing, unknown, expired or revoked', NotAuthenticated, InvalidToken],
    403: extend(
      [`The token lacks \`${scope}\``, new NotEnoughPermissions(scope), AddressNotAllowed, UserBlocked],
      forbidden,
    ),
    429: extend(
      ['The token or the user has sent too many requests in this minute', new TooManyRequests(17, {})],
      tooMany,
    ),
  } satisfies RouteOptions['errors'];
}

function extend(always: ErrorsOfStatus, more: ErrorsOfStatus | undefined): ErrorsOfStatus {
  if (!more) return always;
  const [when, ...errors] = always;
  const [or, ...others] = more;
  return [`${when}, or ${or}`, ...errors, ...others];
}

const LIMITS_OF_TOKENS = rateLimitHeaders(
  '"token";q=120000;w=60, "user";q=240000;w=60',
  '"token";r=0;t=17, "user";r=84000;t=17',
);
