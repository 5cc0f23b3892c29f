import { domainError } from '../common';

export class RenewalRuleNotFound extends domainError('not-found', 'Renewal rule not found') {}

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
