import { type CustomerScope, isPaymentScope } from '../auth';
import type { AppConfig } from '../config';

/** Scopes of the tools that change nothing and show no password. */
export const LOOK: readonly CustomerScope[] = [
  'profile:read',
  'countries:read',
  'price:read',
  'proxies:read',
  'deposits:read',
];
/** Further scopes of the tools that order proxies and prepare deposits. */
export const BUY: readonly CustomerScope[] = ['proxies:write', 'deposits:write'];
/** Further scope of the tool that shows passwords. */
export const PASSWORDS: readonly CustomerScope[] = ['proxies:export'];

/** All scopes that an OAuth client can get: those of the tools. */
const AGENT_SCOPES: readonly CustomerScope[] = [...LOOK, ...BUY, ...PASSWORDS];

/** Returns the scopes that can be granted. Scopes of deposits require that the service accepts payments. */
export const grantableScopes = ({ payments }: AppConfig): CustomerScope[] =>
  AGENT_SCOPES.filter((scope) => payments.provider !== 'off' || !isPaymentScope(scope));
