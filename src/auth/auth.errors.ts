import { DomainError } from '../common';

/** No `Authorization: Bearer …` header, or one that cannot be read. */
export class NotAuthenticated extends DomainError {
  readonly kind = 'not-authenticated';

  constructor() {
    super('Not authenticated', { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
}

/** Unknown, expired or revoked: which of them is not told. */
export class InvalidToken extends DomainError {
  readonly kind = 'invalid-token';

  constructor() {
    super('Invalid or expired token', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } });
  }
}

export class NotEnoughPermissions extends DomainError {
  readonly kind = 'forbidden';

  constructor(neededScope: string) {
    super('Not enough permissions', {
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${neededScope}"` },
    });
  }
}

export class TokenNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('Token not found');
  }
}

export class TokenOwnerNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('User not found');
  }
}
