import { domainError } from '../common';

/** Thrown even for other users' proxies, so that callers cannot learn which ids exist. */
export class ProxyNotFound extends domainError('not-found', 'Proxy not found') {}

/** A refunded proxy stays withdrawn. */
export class ProxyRefunded extends domainError('conflict', 'This proxy was refunded') {}
