import { DomainError, domainError } from '../common';

export class UserExists extends DomainError {
  readonly kind = 'conflict';

  constructor(field: 'tg_id' | 'web_username') {
    super(`A user with this ${field} exists`);
  }
}

export class UserNotFound extends domainError('not-found', 'User not found') {}
