import { domainError } from '../../common';
import { InputMistake, RequestInvalid } from '../../http';

export class LinkNotFound extends domainError('not-found', 'Link not found') {}

/** Does not say whether the secret is unknown, expired, revoked or restricted to other addresses. */
export class SecretLinkNotFound extends domainError('not-found', 'Link not found', {
  // By default, caches would store a 404.
  headers: { 'Cache-Control': 'no-store' },
}) {}

export class LinksDisabled extends domainError('forbidden', 'Links are disabled') {}

export class TooManyLinks extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} links: delete some first`,
) {}

/** Thrown for a template together with a format other than the default. */
export class FormatBesideTemplate extends RequestInvalid {
  constructor(template: string) {
    const error = 'send either format or template, not both';
    super([
      new InputMistake('value_error', `Value error, ${error}`, template, { error }).at('body', 'template'),
    ]);
  }
}

export class LinkExpiryInPast extends domainError('bad-request', 'expires_at must be in the future') {}

export class LinkWiderThanToken extends domainError(
  'forbidden',
  /** @param fields the request's fields that would allow more than the token */
  (fields: readonly string[]) =>
    `A link cannot be less restricted than the token that creates it: ${fields.join(', ')}`,
) {}
