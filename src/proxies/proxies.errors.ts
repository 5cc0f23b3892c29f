import { domainError } from '../common';

/** Also thrown for another user's proxy, so that callers cannot learn which ids exist. */
export class ProxyNotFound extends domainError('not-found', 'Proxy not found') {}

/** It did not work: it is withdrawn for good. */
export class ProxyRefunded extends domainError('conflict', 'This proxy was refunded') {}
