import { DomainError } from '../common';

export class InsufficientBalance extends DomainError {
  readonly kind = 'bad-request';

  constructor() {
    super('Insufficient balance');
  }
}

export class InvalidAmount extends DomainError {
  readonly kind = 'bad-request';

  constructor() {
    super('The amount must be above 0, at most 100000000.00, with at most two decimals');
  }
}
