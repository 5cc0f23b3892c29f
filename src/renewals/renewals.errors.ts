import { domainError } from '../common';

export class RenewalRuleNotFound extends domainError('not-found', 'Renewal rule not found') {}

/** Without the rule a wider one would apply, and might renew more than now. */
export class WiderRuleWouldApply extends domainError(
  'forbidden',
  'A wider rule would apply instead, which requires proxies:write: disable that rule or all rules first',
) {}

/** A token that may not spend may not let renewals spend more either. */
export class BudgetNotRaisable extends domainError(
  'forbidden',
  'Raising or removing the budget requires proxies:write',
) {}

/** The service itself orders renewals, so the daily limit of a token cannot count them. */
export class LimitedTokenCannotRenew extends domainError(
  'forbidden',
  'A token with a daily limit cannot enable renewals',
) {}

export class TooManyRenewalRules extends domainError(
  'conflict',
  (most: number) => `There are ${most} rules with a filter already: disable some first`,
) {}

/** `null` is not a filter: a mistake in a script must not enable the renewal of everything. */
export class TargetMismatch extends domainError(
  'bad-request',
  'Target proxy requires proxy_id, target filter a filter that is not empty, and target all neither',
) {}
