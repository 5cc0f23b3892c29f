import { DomainError } from '../common';

/** Also what a proxy of another user is to a caller. */
export class ProxyNotFound extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    super('Proxy not found');
  }
}
