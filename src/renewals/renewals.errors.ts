import { DomainError, domainError } from '../common';

export class RenewalRuleNotFound extends domainError('not-found', 'Renewal rule not found') {}

/** Without the rule a wider one would apply, and might renew more than now. */
export class WiderRuleWouldApply extends domainError(
  'forbidden',
  'A wider rule would hold instead, which requires proxies:write: switch that one off first, or all at once',
) {}

/** A token that may not spend may not let renewals spend more either. */
export class BudgetNotRaisable extends domainError(
  'forbidden',
  'Raising or removing the budget requires proxies:write',
) {}

/** The service itself orders renewals, so the daily limit of a token cannot count them. */
export class LimitedTokenCannotRenew extends domainError(
  'forbidden',
  'A token with a daily limit cannot switch renewals on',
) {}

export class TooManyRenewalRules extends DomainError {
  readonly kind = 'conflict';

  constructor(most: number) {
    super(`There are ${most} rules with a filter already: switch some off first`);
  }
}

/** `null` is not a filter: a mistake in a script must not switch on the renewal of everything. */
export class TargetMismatch extends domainError(
  'bad-request',
  'target proxy takes proxy_id, target filter takes a filter that is not empty, and target all neither',
) {}
