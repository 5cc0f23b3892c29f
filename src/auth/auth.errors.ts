import { domainError } from '../common';
import { RequestInvalid } from '../http';
import type { Scope } from './scopes';

/** The `Authorization: Bearer …` header is missing or malformed. */
export class NotAuthenticated extends domainError('not-authenticated', 'Not authenticated', {
  headers: { 'WWW-Authenticate': 'Bearer' },
}) {}

/** The token is unknown, expired or revoked. The response does not say which. */
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

/** The holder of the token may know this: it is their own account. */
export class UserBlocked extends domainError('forbidden', 'User is blocked') {}

/** The token may be used only from certain networks, and the request came from another. */
export class AddressNotAllowed extends domainError('forbidden', 'Address not allowed') {}

/** A token with such scopes would gain a right when the service begins to accept payments. */
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
 * The issuer could act as a colleague, and the audit log would name the colleague. Nor may a colleague be
 * locked out without it.
 */
export class StaffScopesForAnother extends domainError(
  'forbidden',
  'Staff scopes for another user require the scope staff:grant',
) {}

/** An issued token inherits the restrictions of its issuer. */
export class TokenWiderThanIssuer extends domainError(
  'forbidden',
  /** @param fields of the request that are wider */
  (fields: readonly string[]) => `A token cannot issue a wider token: ${fields.join(', ')}`,
) {}

export class TokenNotFound extends domainError('not-found', 'Token not found') {}

export class TokenUserNotFound extends domainError('not-found', 'User not found') {}

export class TooManyTokens extends domainError(
  'conflict',
  (most: number) => `There are ${most} tokens already: revoke some first`,
) {}

export class TokenExpiryInPast extends domainError('bad-request', 'expires_at must lie in the future') {}
