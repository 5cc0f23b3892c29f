import { DomainError } from '../../common';

/** More requests than a token, a user or an address may make in a minute. */
export class TooManyRequests extends DomainError {
  readonly kind = 'rate-limited';

  constructor(retryAfterSeconds: number, headers: Readonly<Record<string, string>>) {
    super('Too many requests', { retryAfterSeconds, headers });
  }
}
