import { DomainError, domainError } from '../../common';

export class TooManyTokens extends DomainError {
  readonly kind = 'conflict';

  constructor(most: number) {
    super(`There are ${most} tokens already: revoke some first`);
  }
}

export class TokenExpiryInPast extends domainError('bad-request', 'expires_at must lie in the future') {}
