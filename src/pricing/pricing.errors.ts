import { DomainError, domainError } from '../common';

export class InvalidPriceRule extends DomainError {
  readonly kind = 'bad-request';
}

export class PriceRuleWithoutEffect extends domainError(
  'bad-request',
  (why: string) =>
    'A rule for a country applies only where it is cheaper than the quote, which does not depend on ' +
    `the country. This rule would never apply. ${why}`,
) {}

export class PriceRuleNotFound extends domainError('not-found', 'Price rule not found') {}

export class PriceRuleEnded extends domainError(
  'conflict',
  'The price rule has already ended, or is set to end earlier',
) {}

export class TooManyPriceRules extends domainError(
  'conflict',
  (most: number) => `There are already ${most} price rules that have not ended: end some first`,
) {}

export class PriceChangeTooLate extends domainError(
  'conflict',
  'The change could not reach all replicas in time, and was not made: retry, or choose a later time',
) {}
