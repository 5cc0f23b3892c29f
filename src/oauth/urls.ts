import type { AppConfig } from '../config';
import { grantableScopes } from './agent-scopes';

/** The configuration requires `PUBLIC_URL` for OAuth. */
export const issuerOf = ({ server: { publicUrl = '' } }: AppConfig): string => publicUrl;

/** The only audience of the tokens. */
export const resourceOf = (config: AppConfig): string => `${issuerOf(config)}/mcp`;

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** Parameters of a 401 that lead clients to the authorization server (RFC 9728); null without OAuth. */
export const challengeParameters = (config: AppConfig): string | null =>
  config.agents.oauth === 'off'
    ? null
    : `resource_metadata="${issuerOf(config)}${RESOURCE_METADATA}/mcp", ` +
      `scope="${grantableScopes(config).join(' ')}"`;
