import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdParam,
  ApiValidationErrorResponse,
  LIMIT_TOO_LARGE,
  notAnInteger,
} from '../http';
import {
  AttemptsPage,
  CreatedWebhook,
  NewSecret,
  ReplayedOut,
  WebhookOut,
  WebhooksPage,
} from './dto/webhook-out.dto';
import {
  ChangedWebhookRequest,
  NewSecretRequest,
  NewWebhookRequest,
  ReplayRequest,
} from './dto/webhook.request';

const ApiWebhookId = () =>
  applyDecorators(
    ApiIdParam('webhook_id', 'The `id` of a webhook of the user', 1),
    ApiErrorResponse(404, 'The user has no such webhook', 'Webhook not found'),
    ApiValidationErrorResponse(notAnInteger('webhook_id', 'three')),
  );

const ApiUrlRefused = () =>
  ApiErrorResponse(
    400,
    'The URL is plain HTTP, or leads to an address or port that nothing is sent to',
    'The URL must begin with https://',
    'Nothing can be sent to this URL: the address is not public',
    'Nothing can be sent to this URL: the port must be 80, 443, or 1024 and above',
  );

const ApiIsOff = () =>
  ApiErrorResponse(409, 'Nothing is sent to it while it is off', 'The webhook is switched off');

const NOT_A_URL = {
  type: 'url_parsing',
  loc: ['body', 'url'],
  msg: 'Input should be an absolute URL that begins with https://',
  input: 'example.com/hooks',
};

export const CreateWebhookDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Make a webhook',
      description:
        'From now on, events are sent to the URL soon after they happen, as POST requests in the form of ' +
        'Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`, which you verify ' +
        'with the secret. It is shown this once: whoever has lost it has a new one made. A repeated ' +
        'request makes another webhook. Where the operator switched off the receiver of the URL, which is ' +
        'its host and port, the webhook is made and is off.',
    }),
    ApiBody({
      type: NewWebhookRequest,
      examples: {
        'Some types of events': {
          value: {
            url: 'https://example.com/hooks/proxies',
            types: ['order.completed', 'proxy.expiring'],
            description: 'The billing script',
          },
        },
        'All events': { value: { url: 'https://example.com/hooks/proxies' } },
      },
    }),
    ApiCreatedResponse({ description: 'The webhook, with its secret', type: CreatedWebhook }),
    ApiUrlRefused(),
    ApiErrorResponse(
      403,
      'The token lacks the scope, or webhooks are switched off',
      'Not enough permissions',
      'Address not allowed',
      'User is blocked',
      'Webhooks are switched off',
    ),
    ApiErrorResponse(409, 'The user has too many', 'There are 10 webhooks already: delete some first'),
    ApiValidationErrorResponse(NOT_A_URL),
  );

export const ListWebhooksDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List the webhooks',
      description: 'The webhooks of the user, oldest first, never with their secrets.',
    }),
    ApiOkResponse({ description: 'A page of webhooks, oldest first', type: WebhooksPage }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const GetWebhookDocs = () =>
  applyDecorators(
    ApiOperation({ summary: 'Show a webhook', description: 'One webhook, without its secret.' }),
    ApiOkResponse({ description: 'The webhook', type: WebhookOut }),
    ApiWebhookId(),
  );

export const ChangeWebhookDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Change a webhook',
      description:
        'Sets another URL, other types or another description, or switches the webhook off or on. What is ' +
        'left out stays as it is. What was still to be sent when it was switched off is sent when it is on ' +
        'again; what failed or happened meanwhile can be replayed. A URL whose receiver the operator ' +
        'switched off switches the webhook off.',
    }),
    ApiBody({
      type: ChangedWebhookRequest,
      examples: {
        'Switch it on again': { value: { enabled: true } },
        'Another address': { value: { url: 'https://example.com/hooks/v2' } },
      },
    }),
    ApiOkResponse({ description: 'The webhook', type: WebhookOut }),
    ApiWebhookId(),
    ApiUrlRefused(),
    ApiErrorResponse(
      409,
      'The operator switched it or its receiver off, and only the operator switches it on',
      'The webhook was switched off by the operator',
    ),
  );

export const DeleteWebhookDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Delete a webhook',
      description: 'Nothing is sent to it from now on, and its attempts are shown no longer.',
    }),
    ApiNoContentResponse({ description: 'The webhook was deleted' }),
    ApiWebhookId(),
  );

export const NewSecretDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Give a webhook a new secret',
      description:
        'The secret before stays valid for `overlap_hours`: until then events are signed with both, so ' +
        'that your receiver may have either. At most two are valid: one that was valid beside it ends at ' +
        'once.',
    }),
    ApiBody({
      type: NewSecretRequest,
      examples: {
        'Both are valid for a day': { value: {} },
        'The secret was stolen': { value: { overlap_hours: 0 } },
      },
    }),
    ApiOkResponse({ description: 'The new secret', type: NewSecret }),
    ApiWebhookId(),
  );

export const ListAttemptsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List what was sent',
      description:
        'Each attempt to send an event to the webhook, newest first: what was answered, how long it took, ' +
        'and why it failed. They are kept as long as the event.',
    }),
    ApiOkResponse({ description: 'A page of attempts, newest first', type: AttemptsPage }),
    ApiWebhookId(),
  );

export const ReplayDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Send events again',
      description:
        'Sends one event, or those since a moment: by default what failed or was never sent, because the ' +
        'webhook was off, was not there yet or had other types. Each keeps its `webhook-id`. One request ' +
        'replays 10,000 events at most, in the order of `GET /events`.',
    }),
    ApiBody({
      type: ReplayRequest,
      examples: {
        'What failed since a moment': { value: { since: '2026-11-21T12:00:00Z' } },
        'One event': { value: { event_id: 'evt_4711' } },
      },
    }),
    ApiOkResponse({ description: 'How many events are sent', type: ReplayedOut }),
    ApiWebhookId(),
    ApiErrorResponse(
      400,
      'Both are given, or neither, or `after` without `since`',
      'Give either event_id or since, and after with since only',
    ),
    ApiErrorResponse(
      404,
      'The user has no such webhook, or no such event that is still kept',
      'Webhook not found',
      'Event not found',
    ),
    ApiIsOff(),
    ApiErrorResponse(
      410,
      'Some of the events were removed in that moment, because they are older than is kept',
      'Some of these events are no longer kept; nothing was replayed. Repeat the request with `since` to ' +
        'replay what is kept',
    ),
    ApiErrorResponse(
      429,
      'More requests than the token or the user may make in a minute, or more than two replays at once',
      'Too many requests',
      'Too many requests of this kind are under way',
    ),
  );

export const TestWebhookDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Send a test event',
      description:
        'Sends an event of type `test` to this webhook alone, whatever its types are, and in the same way ' +
        'as any other. What came of it stands in the attempts. A user may have ten sent in a minute.',
    }),
    ApiNoContentResponse({ description: 'It is on its way' }),
    ApiWebhookId(),
    ApiIsOff(),
    ApiErrorResponse(
      429,
      'More requests than the token or the user may make in a minute, or more than ten test events',
      'Too many requests',
    ),
  );
