import type { AppConfig } from '../config';
import { grantableScopes } from './agent-scopes';

/** If OAuth is enabled, the configuration requires `PUBLIC_URL`. */
export const issuerOf = ({ server: { publicUrl = '' } }: AppConfig): string => publicUrl;

/** The only audience for which tokens are issued. */
export const resourceOf = (config: AppConfig): string => `${issuerOf(config)}/mcp`;

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** Parameters that point clients from a 401 to the authorization server (RFC 9728); null without OAuth. */
export const challengeParameters = (config: AppConfig): string | null =>
  config.agents.oauth === 'off'
    ? null
    : `resource_metadata="${issuerOf(config)}${RESOURCE_METADATA}/mcp", ` +
      `scope="${grantableScopes(config).join(' ')}"`;
