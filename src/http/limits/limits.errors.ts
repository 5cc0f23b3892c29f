import { DomainError } from '../../common';

/** A token, a user or an address exceeded its requests in a minute. */
export class TooManyRequests extends DomainError {
  readonly kind = 'rate-limited';

  constructor(retryAfterSeconds: number, headers: Readonly<Record<string, string>>) {
    super('Too many requests', { retryAfterSeconds, headers });
  }
}
