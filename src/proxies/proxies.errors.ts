import { domainError } from '../common';

/** Thrown even for other users' proxies, so that callers cannot learn which ids exist. */
export class ProxyNotFound extends domainError('not-found', 'Proxy not found') {}

/** Thrown for a proxy that was refunded because it did not work; it stays withdrawn. */
export class ProxyRefunded extends domainError('conflict', 'This proxy was refunded') {}
