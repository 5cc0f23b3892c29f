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

/** The token's user is blocked. Revealing this is safe: the token's holder owns the account. */
export class UserBlocked extends domainError('forbidden', 'User is blocked') {}

/** The request came from an address outside the token's networks. */
export class AddressNotAllowed extends domainError('forbidden', 'Address not allowed') {}

/** Refuses payment scopes while the service accepts no payments, so that no token gains rights later. */
export class NoPaymentsAccepted extends RequestInvalid {
  constructor(scopes: readonly Scope[]) {
    const msg = 'The service does not accept payments';
    super(scopes.map((input) => ({ type: 'enum', loc: ['body', 'scopes'], msg, input })));
  }
}

/** A token can grant only scopes that it has itself. */
export class ScopeNotGrantable extends domainError(
  'forbidden',
  (scopes: readonly string[]) => `A token cannot grant scopes that it lacks: ${scopes.join(', ')}`,
) {}

/**
 * Only tokens with `staff:grant` may issue staff scopes to a colleague or lock a colleague out. Otherwise,
 * the audit log could attribute the issuer's actions to the colleague.
 */
export class StaffScopesForAnother extends domainError(
  'forbidden',
  'Staff scopes for another user require the scope staff:grant',
) {}

/** The requested restrictions are looser than the issuing token's. */
export class TokenWiderThanIssuer extends domainError(
  'forbidden',
  /** @param fields names of the looser restrictions */
  (fields: readonly string[]) => `A token cannot issue a wider token: ${fields.join(', ')}`,
) {}

export class TokenNotFound extends domainError('not-found', 'Token not found') {}

export class TokenUserNotFound extends domainError('not-found', 'User not found') {}

export class TooManyTokens extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} tokens: revoke some first`,
) {}

export class TokenExpiryInPast extends domainError('bad-request', 'expires_at must be in the future') {}
