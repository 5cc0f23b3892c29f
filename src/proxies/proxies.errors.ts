import { DomainError } from '../common';

/** Thrown for another user's proxy too, so that callers cannot tell which ids exist. */
export class ProxyNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('Proxy not found');
  }
}
