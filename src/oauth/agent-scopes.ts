import { type CustomerScope, isPaymentScope } from '../auth';
import type { AppConfig } from '../config';

/** Scopes of tools that change nothing and show no password. */
export const LOOK: readonly CustomerScope[] = [
  'profile:read',
  'countries:read',
  'price:read',
  'proxies:read',
  'deposits:read',
];
/** Additional scopes of tools that order proxies and prepare deposits. */
export const BUY: readonly CustomerScope[] = ['proxies:write', 'deposits:write'];
/** Additional scope of the tool that shows passwords. */
export const PASSWORDS: readonly CustomerScope[] = ['proxies:export'];

/** All scopes that an OAuth client can get: those that the agents' tools need. */
const AGENT_SCOPES: readonly CustomerScope[] = [...LOOK, ...BUY, ...PASSWORDS];

/** Returns the scopes that can be granted: scopes for deposits only if the service accepts payments. */
export const grantableScopes = ({ payments }: AppConfig): CustomerScope[] =>
  AGENT_SCOPES.filter((scope) => payments.provider !== 'off' || !isPaymentScope(scope));
