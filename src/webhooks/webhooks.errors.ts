import { domainError } from '../common';

export class WebhookNotFound extends domainError('not-found', 'Webhook not found') {}

/** No stored event of the user has this id. */
export class EventNotFound extends domainError('not-found', 'Event not found') {}

/** The events were removed while they were being replayed. */
export class ReplayedEventsGone extends domainError(
  'gone',
  'Some of these events were removed; nothing was replayed. Use `since` to replay the others',
) {}

export class TooManyWebhooks extends domainError(
  'conflict',
  (most: number) => `There are ${most} webhooks already: delete some first`,
) {}

export class WebhooksDisabled extends domainError('forbidden', 'Webhooks are disabled') {}

/** The operator allows no plain HTTP. */
export class WebhookNeedsHttps extends domainError('bad-request', 'The URL must begin with https://') {}

/** The URL is refused before its name is resolved; addresses are checked again with each attempt. */
export class WebhookUrlRefused extends domainError(
  'bad-request',
  /** @param why the end of the sentence, without an address */
  (why: string) => `Nothing can be sent to this URL: ${why}`,
) {}

/** A webhook that is off receives no events. */
export class WebhookDisabled extends domainError('conflict', 'The webhook is disabled') {}

/** Only the operator can enable it again. */
export class WebhookDisabledByOperator extends domainError(
  'conflict',
  'The operator has disabled the webhook',
) {}

export class InvalidReplay extends domainError(
  'bad-request',
  'Send either event_id or since; after requires since',
) {}
