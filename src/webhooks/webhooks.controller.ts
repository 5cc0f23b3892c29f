import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Route } from '../auth';
import { type ErrorsOfStatus, IdParam, PageQuery, TooManyUnderWay } from '../http';
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
import { ReplaysService } from './replays.service';
import {
  EventNotFound,
  InvalidReplay,
  ReplayedEventsGone,
  TooManyWebhooks,
  WebhookDisabled,
  WebhookDisabledByOperator,
  WebhookNeedsHttps,
  WebhookNotFound,
  WebhooksDisabled,
  WebhookUrlRefused,
} from './webhooks.errors';
import { WebhooksService } from './webhooks.service';

const WebhookId = () => IdParam('webhook_id', "The `id` of one of the user's webhooks", 1);

const NO_SUCH_WEBHOOK: ErrorsOfStatus = ['The user has no such webhook', WebhookNotFound];
const IS_OFF: ErrorsOfStatus = ['The webhook is disabled, so nothing is sent to it', WebhookDisabled];
const URL_REFUSED: ErrorsOfStatus = [
  'The URL uses plain HTTP, or points to an address or port to which no events are sent',
  WebhookNeedsHttps,
  new WebhookUrlRefused('the address is not public'),
  new WebhookUrlRefused('the port must be 80, 443, or 1024 and above'),
];

@ApiTags('Webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly replays: ReplaysService,
  ) {}

  @Post()
  @Route({
    scope: 'events:write',
    summary: 'Create a webhook',
    description:
      'Sends future events to the URL soon after they happen, as POST requests in the Standard ' +
      'Webhooks format: verify `webhook-id`, `webhook-timestamp` and `webhook-signature` with the ' +
      'secret. The secret is shown only once; rotate it if it is lost. Retrying the request creates ' +
      'another webhook. If the operator has disabled the receiver (host and port) of the URL, the new ' +
      'webhook is disabled.',
    status: 201,
    response: { description: 'The webhook, with its secret', type: CreatedWebhook },
    body: {
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
    },
    errors: {
      400: URL_REFUSED,
      403: ['the operator has disabled webhooks', WebhooksDisabled],
      409: ['The user has too many webhooks', new TooManyWebhooks(10)],
    },
  })
  createWebhook(@CurrentUserId() userId: number, @Body() body: NewWebhookRequest): Promise<CreatedWebhook> {
    return this.webhooks.create(userId, body);
  }

  @Get()
  @Route({
    scope: 'events:read',
    summary: 'List the webhooks',
    description: "The user's webhooks, oldest first, without their secrets.",
    response: { description: 'A page of webhooks, oldest first', type: WebhooksPage },
  })
  listWebhooks(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<WebhooksPage> {
    return this.webhooks.list(userId, page);
  }

  @Get(':webhook_id')
  @Route({
    scope: 'events:read',
    summary: 'Show a webhook',
    description: 'One webhook, without its secret.',
    response: { description: 'The webhook', type: WebhookOut },
    errors: { 404: NO_SUCH_WEBHOOK },
  })
  getWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<WebhookOut> {
    return this.webhooks.get(userId, webhookId);
  }

  @Patch(':webhook_id')
  @Route({
    scope: 'events:write',
    summary: 'Change a webhook',
    description:
      'Changes the URL, types or description, or disables or enables the webhook. Omitted fields are ' +
      'left unchanged. Unsent events are sent when the webhook is enabled again; events that failed or ' +
      'happened meanwhile can be replayed. Setting a URL whose receiver the operator has disabled ' +
      'disables the webhook.',
    response: { description: 'The webhook', type: WebhookOut },
    body: {
      type: ChangedWebhookRequest,
      examples: {
        'Enable it again': { value: { enabled: true } },
        'Another address': { value: { url: 'https://example.com/hooks/v2' } },
      },
    },
    errors: {
      400: URL_REFUSED,
      404: NO_SUCH_WEBHOOK,
      409: [
        'The operator disabled the webhook or its receiver, and only the operator can enable it',
        WebhookDisabledByOperator,
      ],
    },
  })
  updateWebhook(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() body: ChangedWebhookRequest,
  ): Promise<WebhookOut> {
    return this.webhooks.change(userId, webhookId, body);
  }

  @Delete(':webhook_id')
  @Route({
    scope: 'events:write',
    summary: 'Delete a webhook',
    description: 'No more events are sent to the webhook, and its attempts are no longer listed.',
    status: 204,
    response: { description: 'The webhook was deleted' },
    errors: { 404: NO_SUCH_WEBHOOK },
  })
  async deleteWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<void> {
    await this.webhooks.delete(userId, webhookId);
  }

  @Post(':webhook_id/secret')
  @Route({
    scope: 'events:write',
    summary: "Rotate a webhook's secret",
    description:
      'The previous secret stays valid for `overlap_hours`; until then, events are signed with both ' +
      'secrets. At most two secrets are valid at a time: another rotation immediately ends the oldest.',
    response: { description: 'The new secret', type: NewSecret },
    body: {
      type: NewSecretRequest,
      examples: {
        'Both are valid for a day': { value: {} },
        'The secret was stolen': { value: { overlap_hours: 0 } },
      },
    },
    errors: { 404: NO_SUCH_WEBHOOK },
  })
  rotateWebhookSecret(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() { overlap_hours: overlapHours }: NewSecretRequest,
  ): Promise<NewSecret> {
    return this.webhooks.renewSecret(userId, webhookId, overlapHours);
  }

  @Get(':webhook_id/attempts')
  @Route({
    scope: 'events:read',
    summary: 'List attempts',
    description:
      'The attempts to send events to the webhook, newest first, each with its response, its duration ' +
      'and the reason for a failure. Attempts are stored as long as their event.',
    response: { description: 'A page of attempts, newest first', type: AttemptsPage },
    errors: { 404: NO_SUCH_WEBHOOK },
  })
  listWebhookAttempts(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Query() page: PageQuery,
  ): Promise<AttemptsPage> {
    return this.webhooks.listAttempts(userId, webhookId, page);
  }

  @Post(':webhook_id/replay')
  @Route({
    scope: 'events:write',
    summary: 'Replay events',
    description:
      'Sends a single event, or the events since a given time. By default, only events that failed or ' +
      'were never sent because the webhook was disabled, did not exist yet or had other types are ' +
      'sent. Each event keeps its `webhook-id`. A request replays at most 10,000 events, in the order ' +
      'of `GET /events`.',
    response: { description: 'The number of events that will be sent', type: ReplayedOut },
    body: {
      type: ReplayRequest,
      examples: {
        'Failures since a time': { value: { since: '2026-11-21T12:00:00Z' } },
        'One event': { value: { event_id: 'evt_4711' } },
      },
    },
    errors: {
      400: [
        '`event_id` and `since` are both given or both omitted, or `after` is given without `since`',
        InvalidReplay,
      ],
      404: ['The user has no such webhook, or the event is not stored', WebhookNotFound, EventNotFound],
      409: IS_OFF,
      410: [
        'Some of the events have since been removed, because their retention period ended',
        ReplayedEventsGone,
      ],
      429: ['more than two replays are in progress', TooManyUnderWay],
    },
  })
  replayEvents(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() request: ReplayRequest,
  ): Promise<ReplayedOut> {
    return this.replays.replay(userId, webhookId, request);
  }

  @Post(':webhook_id/test')
  @Route({
    scope: 'events:write',
    summary: 'Send a test event',
    description:
      'Sends an event of type `test` to this webhook only, even if `test` is not one of its types. The ' +
      'attempts show the result. A user can send ten test events per minute.',
    status: 204,
    response: { description: 'The test event will be sent' },
    errors: {
      404: NO_SUCH_WEBHOOK,
      409: IS_OFF,
      429: ['the user has sent ten test events in it'],
    },
  })
  async testWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<void> {
    await this.replays.test(userId, webhookId);
  }
}
