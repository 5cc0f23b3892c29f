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

/** Revealing the block is safe, because the token's holder owns the account. */
export class UserBlocked extends domainError('forbidden', 'User is blocked') {}

export class AddressNotAllowed extends domainError('forbidden', 'Address not allowed') {}

/** Payment scopes are refused while payments are off, so that enabling payments gives no token new rights. */
export class NoPaymentsAccepted extends RequestInvalid {
  constructor(scopes: readonly Scope[]) {
    const msg = 'The service does not accept payments';
    super(scopes.map((input) => ({ type: 'enum', loc: ['body', 'scopes'], msg, input })));
  }
}

export class ScopeNotGrantable extends domainError(
  'forbidden',
  (scopes: readonly string[]) => `A token cannot grant scopes that it lacks: ${scopes.join(', ')}`,
) {}

/** With a staff token issued for a colleague, staff could act under the colleague's name in the audit log. */
export class StaffScopesForAnother extends domainError(
  'forbidden',
  'Issuing staff scopes to another user requires the scope staff:grant',
) {}

export class TokenWiderThanIssuer extends domainError(
  'forbidden',
  /** @param fields names of the looser restrictions */
  (fields: readonly string[]) => `A token cannot issue a less restricted token: ${fields.join(', ')}`,
) {}

export class TokenNotFound extends domainError('not-found', 'Token not found') {}

export class TokenUserNotFound extends domainError('not-found', 'User not found') {}

export class TooManyTokens extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} tokens: revoke some first`,
) {}

export class TokenExpiryInPast extends domainError('bad-request', 'expires_at must be in the future') {}
