import { DomainError } from '../common';

export class InvalidPriceRule extends DomainError {
  readonly kind = 'bad-request';
}

export class PriceRuleNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('Price rule not found');
  }
}

export class PriceRuleEnded extends DomainError {
  readonly kind = 'conflict';

  constructor() {
    super('The end of this price rule is written already, or comes sooner');
  }
}

export class TooManyPriceRules extends DomainError {
  readonly kind = 'conflict';

  constructor(most: number) {
    super(`There are ${most} price rules that hold or will: end some first`);
  }
}

export class PriceChangeTooLate extends DomainError {
  readonly kind = 'conflict';

  constructor() {
    super(
      'The change took too long to be known everywhere when it takes effect, and was not made: try again, or name a later moment',
    );
  }
}
