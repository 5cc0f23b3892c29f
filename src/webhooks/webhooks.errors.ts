import { domainError } from '../common';

export class WebhookNotFound extends domainError('not-found', 'Webhook not found') {}

/** The user has no stored event with this id. */
export class EventNotFound extends domainError('not-found', 'Event not found') {}

/** Events were removed during their replay. */
export class ReplayedEventsGone extends domainError(
  'gone',
  'Some of these events were removed; nothing was replayed. Use `since` to replay the others',
) {}

export class TooManyWebhooks extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} webhooks: delete some first`,
) {}

export class WebhooksDisabled extends domainError('forbidden', 'Webhooks are disabled') {}

/** The operator does not allow plain HTTP. */
export class WebhookNeedsHttps extends domainError('bad-request', 'The URL must begin with https://') {}

/** The URL was refused before its host name was resolved. Each attempt checks the addresses again. */
export class WebhookUrlRefused extends domainError(
  'bad-request',
  /** @param why end of the sentence, without an address */
  (why: string) => `Nothing can be sent to this URL: ${why}`,
) {}

/** A disabled webhook receives no events. */
export class WebhookDisabled extends domainError('conflict', 'The webhook is disabled') {}

/** Only the operator can enable the webhook. */
export class WebhookDisabledByOperator extends domainError(
  'conflict',
  'The operator has disabled the webhook',
) {}

export class InvalidReplay extends domainError(
  'bad-request',
  'Send either event_id or since; after requires since',
) {}
