import { domainError } from '../common';
import { RequestInvalid } from '../http';
import type { Scope } from './scopes';

/** The `Authorization: Bearer …` header is missing or malformed. */
export class NotAuthenticated extends domainError('not-authenticated', 'Not authenticated', {
  headers: { 'WWW-Authenticate': 'Bearer' },
}) {}

/** The token is unknown, expired or revoked. The response does not show which. */
export class InvalidToken extends domainError('invalid-token', 'Invalid or expired token', {
  headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
}) {}

export class NotEnoughPermissions extends domainError(
  'forbidden',
  'Not enough permissions',
  (neededScope: string) => ({
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${neededScope}"` },
  }),
) {}

/** The user of the token is blocked. The response may say so, because the token's holder owns the account. */
export class UserBlocked extends domainError('forbidden', 'User is blocked') {}

/** The request came from an address outside the networks of its token. */
export class AddressNotAllowed extends domainError('forbidden', 'Address not allowed') {}

/**
 * A token with scopes of payments is refused, because it would gain a right when the service begins to accept
 * payments.
 */
export class NoPaymentsAccepted extends RequestInvalid {
  constructor(scopes: readonly Scope[]) {
    const msg = 'The service accepts no payments';
    super(scopes.map((input) => ({ type: 'enum', loc: ['body', 'scopes'], msg, input })));
  }
}

/** A token can grant only scopes that it has. */
export class ScopeNotGrantable extends domainError(
  'forbidden',
  (scopes: readonly string[]) => `A token cannot grant scopes that it lacks: ${scopes.join(', ')}`,
) {}

/**
 * A token without `staff:grant` may neither issue staff scopes to a colleague nor lock a colleague out.
 * Otherwise, the issuer could act as the colleague, and the audit log would name the colleague.
 */
export class StaffScopesForAnother extends domainError(
  'forbidden',
  'Staff scopes for another user require the scope staff:grant',
) {}

/** The restrictions of the requested token are wider than those of its issuer. */
export class TokenWiderThanIssuer extends domainError(
  'forbidden',
  /** @param fields the fields of the request that are wider */
  (fields: readonly string[]) => `A token cannot issue a wider token: ${fields.join(', ')}`,
) {}

export class TokenNotFound extends domainError('not-found', 'Token not found') {}

export class TokenUserNotFound extends domainError('not-found', 'User not found') {}

export class TooManyTokens extends domainError(
  'conflict',
  (most: number) => `There are ${most} tokens already: revoke some first`,
) {}

export class TokenExpiryInPast extends domainError('bad-request', 'expires_at must lie in the future') {}
