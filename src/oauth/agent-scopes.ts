import { type CustomerScope, isPaymentScope } from '../auth';
import type { AppConfig } from '../config';

/** Scopes of tools that change nothing and show no password. */
export const READING_SCOPES: readonly CustomerScope[] = [
  'profile:read',
  'countries:read',
  'price:read',
  'proxies:read',
  'deposits:read',
];
/** Additional scopes of tools that order proxies and prepare deposits. */
export const ORDERING_SCOPES: readonly CustomerScope[] = ['proxies:write', 'deposits:write'];
/** Additional scope of the tool that shows passwords. */
export const EXPORT_SCOPES: readonly CustomerScope[] = ['proxies:export'];

/** All scopes that an OAuth client can get: those that the agents' tools need. */
const AGENT_SCOPES: readonly CustomerScope[] = [...READING_SCOPES, ...ORDERING_SCOPES, ...EXPORT_SCOPES];

export const grantableScopes = ({ payments }: AppConfig): CustomerScope[] =>
  AGENT_SCOPES.filter((scope) => payments.provider !== 'off' || !isPaymentScope(scope));
