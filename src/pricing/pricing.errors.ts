import { DomainError, domainError } from '../common';

export class InvalidPriceRule extends DomainError {
  readonly kind = 'bad-request';
}

export class PriceRuleNotFound extends domainError('not-found', 'Price rule not found') {}

export class PriceRuleEnded extends domainError(
  'conflict',
  'The price rule has been ended already, or ends sooner by itself',
) {}

export class TooManyPriceRules extends DomainError {
  readonly kind = 'conflict';

  constructor(most: number) {
    super(`There are ${most} price rules that have not ended: end some first`);
  }
}

export class PriceChangeTooLate extends DomainError {
  readonly kind = 'conflict';

  constructor() {
    super(
      'The change took too long for all replicas to know it in time, and was not made: ' +
        'try again, or name a later moment',
    );
  }
}
