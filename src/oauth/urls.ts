import type { AppConfig } from '../config';
import { grantableScopes } from './agent-scopes';

export interface OAuthUrls {
  /** Identifier of the authorization server: the origin of the service. */
  readonly issuer: string;
  /** Identifier of the protected resource, the only audience of the tokens. */
  readonly resource: string;
}

/** Returns the OAuth URLs; null if the operator did not enable OAuth. */
export function oauthUrls({ agents, server: { publicUrl } }: AppConfig): OAuthUrls | null {
  if (agents.oauth === 'off' || publicUrl === undefined) return null;
  return { issuer: publicUrl, resource: `${publicUrl}/mcp` };
}

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/**
 * Returns the parameters of a resource's 401 that lead clients to the authorization server (RFC 9728); null
 * without OAuth.
 */
export function challengeParameters(config: AppConfig): string | null {
  const urls = oauthUrls(config);
  return (
    urls &&
    `resource_metadata="${urls.issuer}${RESOURCE_METADATA}/mcp", scope="${grantableScopes(config).join(' ')}"`
  );
}
