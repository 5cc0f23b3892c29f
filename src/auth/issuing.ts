import { liesWithin, Money } from '../common';
import type { ApiToken } from './api-token';
import { ScopeNotGrantable, StaffScopesForAnother, TokenWiderThanIssuer } from './auth.errors';
import { isStaffScope } from './scopes';

export type Restrictions = Pick<ApiToken, 'scopes' | 'allowedIps' | 'expiresAt' | 'dailyLimit'>;

type Issuer = Restrictions & Pick<ApiToken, 'id' | 'userId' | 'limitedBy'>;

/**
 * Returns the new token's restrictions. Those that the request omits are inherited from the issuer.
 * @throws ScopeNotGrantable, StaffScopesForAnother, TokenWiderThanIssuer
 */
export function restrictedBy(
  issuer: Issuer,
  requested: Restrictions & Pick<ApiToken, 'userId'>,
): Restrictions & Pick<ApiToken, 'issuedBy' | 'limitedBy'> {
  const lacking = requested.scopes.filter((scope) => !issuer.scopes.includes(scope));
  if (lacking.length > 0) throw new ScopeNotGrantable(lacking);
  const isForStaff = requested.scopes.some(isStaffScope);
  if (isForStaff && requested.userId !== issuer.userId && !issuer.scopes.includes('staff:grant')) {
    throw new StaffScopesForAnother();
  }
  const { allowedIps, expiresAt, dailyLimit } = issuer;
  const wider = [
    expiresAt && requested.expiresAt && requested.expiresAt > expiresAt && 'expires_at',
    allowedIps && requested.allowedIps?.some((network) => !liesWithin(allowedIps, network)) && 'allowed_ips',
    dailyLimit && requested.dailyLimit && isAbove(requested.dailyLimit, dailyLimit) && 'daily_limit',
  ].filter((field) => typeof field === 'string');
  if (wider.length > 0) throw new TokenWiderThanIssuer(wider);
  return {
    scopes: requested.scopes,
    expiresAt: requested.expiresAt ?? expiresAt,
    allowedIps: requested.allowedIps ?? allowedIps,
    dailyLimit: requested.dailyLimit ?? dailyLimit,
    issuedBy: issuer.id,
    limitedBy: dailyLimit === null ? [] : [...issuer.limitedBy, issuer.id],
  };
}

const isAbove = (one: string, other: string): boolean =>
  Money.parse(one).minus(Money.parse(other)).isPositive();
