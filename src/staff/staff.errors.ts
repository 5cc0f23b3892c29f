import { DomainError, domainError } from '../common';

/** A token gives others no more than it has itself. */
export class ScopeNotGrantable extends DomainError {
  readonly kind = 'forbidden';

  constructor(scopes: readonly string[]) {
    super(`A token cannot grant what it lacks: ${scopes.join(', ')}`);
  }
}

export class InvalidPeriod extends domainError('bad-request', 'The period must end after it begins') {}
