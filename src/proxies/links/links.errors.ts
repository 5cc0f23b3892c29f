import { DomainError, domainError } from '../../common';
import { Refusal, RequestInvalid } from '../../http';

export class LinkNotFound extends domainError('not-found', 'Link not found') {}

/**
 * No link with this secret may be fetched from here: it is unknown, expired, revoked or not for this address.
 * The answer does not say which.
 */
export class NothingToFetch extends DomainError {
  readonly kind = 'not-found';

  constructor() {
    // Caches keep a 404 of which nothing else is said.
    super('Link not found', { headers: { 'Cache-Control': 'no-store' } });
  }
}

export class LinksSwitchedOff extends domainError('forbidden', 'Links are switched off') {}

export class TooManyLinks extends DomainError {
  readonly kind = 'conflict';

  constructor(most: number) {
    super(`There are ${most} links already: delete some first`);
  }
}

/** Clients send the default of `format` beside a template: that is no other layout. */
export class FormatBesideTemplate extends RequestInvalid {
  constructor(template: string) {
    const error = 'format and template exclude each other';
    super([new Refusal('value_error', `Value error, ${error}`, template, { error }).at('body', 'template')]);
  }
}

export class LinkAlreadyOver extends domainError('bad-request', 'expires_at must lie in the future') {}

/** A link hands on the restrictions of the token by which it is made. */
export class LinkWiderThanToken extends DomainError {
  readonly kind = 'forbidden';

  /** @param fields those of the request that are wider */
  constructor(fields: readonly string[]) {
    super(`A link cannot be wider than the token that makes it: ${fields.join(', ')}`);
  }
}
