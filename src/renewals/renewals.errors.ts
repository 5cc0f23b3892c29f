import { domainError } from '../common';

export class RenewalRuleNotFound extends domainError('not-found', 'Renewal rule not found') {}

/** Renewals do not count against a token's daily limit, so a token with a limit must not enable them. */
export class LimitedTokenCannotRenew extends domainError(
  'forbidden',
  'A token with a daily limit cannot enable renewals',
) {}

export class TooManyRenewalRules extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} rules with a filter: disable some first`,
) {}

/** Thrown even for a `null` filter. Otherwise, a bug in a script might enable renewals of all proxies. */
export class TargetMismatch extends domainError(
  'bad-request',
  'Target proxy requires proxy_id, target filter requires a non-empty filter, and target all requires ' +
    'neither',
) {}
