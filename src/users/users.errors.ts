import { DomainError } from '../common';

export class UserExists extends DomainError {
  readonly kind = 'conflict';

  constructor(field: 'tg_id' | 'web_username') {
    super(`A user with this ${field} exists`);
  }
}

export class UserNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('User not found');
  }
}
