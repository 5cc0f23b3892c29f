import { domainError } from '../../common';
import { Refusal, RequestInvalid } from '../../http';

export class LinkNotFound extends domainError('not-found', 'Link not found') {}

/**
 * No link with this secret may be fetched from this address: it is unknown, expired, revoked, or restricted
 * to others. The response does not say which.
 */
export class SecretLinkNotFound extends domainError('not-found', 'Link not found', {
  // By default, caches store a 404.
  headers: { 'Cache-Control': 'no-store' },
}) {}

export class LinksDisabled extends domainError('forbidden', 'Links are disabled') {}

export class TooManyLinks extends domainError(
  'conflict',
  (most: number) => `There are ${most} links already: delete some first`,
) {}

/** Clients may send the default of `format` with a template: that does not contradict it. */
export class FormatBesideTemplate extends RequestInvalid {
  constructor(template: string) {
    const error = 'send either format or template, not both';
    super([new Refusal('value_error', `Value error, ${error}`, template, { error }).at('body', 'template')]);
  }
}

export class LinkExpiryInPast extends domainError('bad-request', 'expires_at must lie in the future') {}

/** A link inherits the restrictions of the token that creates it. */
export class LinkWiderThanToken extends domainError(
  'forbidden',
  /** @param fields of the request that are wider */
  (fields: readonly string[]) =>
    `A link cannot be wider than the token that creates it: ${fields.join(', ')}`,
) {}
