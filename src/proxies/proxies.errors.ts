import { domainError } from '../common';

/** Thrown for another user's proxy too, so that callers cannot tell which ids exist. */
export class ProxyNotFound extends domainError('not-found', 'Proxy not found') {}
