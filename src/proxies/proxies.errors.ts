import { domainError } from '../common';

/** Thrown for unknown proxies and for other users' proxies, so that callers cannot learn which ids exist. */
export class ProxyNotFound extends domainError('not-found', 'Proxy not found') {}

/** Thrown for a proxy that was refunded because it did not work. Such a proxy is withdrawn for good. */
export class ProxyRefunded extends domainError('conflict', 'This proxy was refunded') {}
