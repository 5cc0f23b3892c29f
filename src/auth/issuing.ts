import { Money } from '../common';
import type { ApiToken } from './api-token';
import { ScopeNotGrantable, StaffScopesForAnother, TokenWiderThanIssuer } from './auth.errors';
import { liesWithin } from './network';
import { isStaffScope } from './scopes';

export type Restrictions = Pick<ApiToken, 'scopes' | 'allowedIps' | 'expiresAt' | 'dailyLimit'>;

type Issuer = Restrictions & Pick<ApiToken, 'id' | 'userId' | 'limitedBy'>;

/**
 * The restrictions of a token that another one issues: those requested, or else the issuer's. It is never
 * wider than the issuer.
 *
 * @throws ScopeNotGrantable, StaffScopesForAnother, TokenWiderThanIssuer
 */
export function restrictedBy(
  issuer: Issuer,
  asked: Restrictions & Pick<ApiToken, 'userId'>,
): Restrictions & Pick<ApiToken, 'issuedBy' | 'limitedBy'> {
  const lacking = asked.scopes.filter((scope) => !issuer.scopes.includes(scope));
  if (lacking.length > 0) throw new ScopeNotGrantable(lacking);
  const isForStaff = asked.scopes.some(isStaffScope);
  if (isForStaff && asked.userId !== issuer.userId && !issuer.scopes.includes('staff:grant')) {
    throw new StaffScopesForAnother();
  }
  const { allowedIps, expiresAt, dailyLimit } = issuer;
  const wider = [
    expiresAt && asked.expiresAt && asked.expiresAt > expiresAt && 'expires_at',
    allowedIps && asked.allowedIps?.some((network) => !liesWithin(allowedIps, network)) && 'allowed_ips',
    dailyLimit && asked.dailyLimit && isAbove(asked.dailyLimit, dailyLimit) && 'daily_limit',
  ].filter((field) => typeof field === 'string');
  if (wider.length > 0) throw new TokenWiderThanIssuer(wider);
  return {
    scopes: asked.scopes,
    expiresAt: asked.expiresAt ?? expiresAt,
    allowedIps: asked.allowedIps ?? allowedIps,
    dailyLimit: asked.dailyLimit ?? dailyLimit,
    issuedBy: issuer.id,
    limitedBy: dailyLimit === null ? [] : [...issuer.limitedBy, issuer.id],
  };
}

const isAbove = (one: string, other: string): boolean =>
  Money.parse(one).minus(Money.parse(other)).isPositive();
