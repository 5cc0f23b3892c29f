import { domainError } from '../common';

export class WebhookNotFound extends domainError('not-found', 'Webhook not found') {}

export class EventNotFound extends domainError('not-found', 'Event not found') {}

export class ReplayedEventsGone extends domainError(
  'gone',
  'Some of these events were removed; nothing was replayed. Use `since` to replay the others',
) {}

export class TooManyWebhooks extends domainError(
  'conflict',
  (most: number) => `The user already has ${most} webhooks: delete some first`,
) {}

export class WebhooksDisabled extends domainError('forbidden', 'Webhooks are disabled') {}

export class WebhookNeedsHttps extends domainError('bad-request', 'The URL must begin with https://') {}

/** Thrown before the host name is resolved; each attempt checks the resolved addresses. */
export class WebhookUrlRefused extends domainError(
  'bad-request',
  /** @param why must not contain an address */
  (why: string) => `Events cannot be sent to this URL: ${why}`,
) {}

export class WebhookDisabled extends domainError('conflict', 'The webhook is disabled') {}

export class WebhookDisabledByOperator extends domainError(
  'conflict',
  'The operator has disabled the webhook',
) {}

export class InvalidReplay extends domainError(
  'bad-request',
  'Send either event_id or since. The field after can be sent only together with since',
) {}
