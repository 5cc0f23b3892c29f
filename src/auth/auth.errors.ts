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

/** Told to whoever holds the token: it is theirs. */
export class UserBlocked extends DomainError {
  readonly kind = 'forbidden';

  constructor() {
    super('User is blocked');
  }
}

/** The token has networks from which it may be used, and this is none of them. */
export class AddressNotAllowed extends DomainError {
  readonly kind = 'forbidden';

  constructor() {
    super('Address not allowed');
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
