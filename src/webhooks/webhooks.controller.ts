import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../auth';
import { IdParam, PageQuery } from '../http';
import type {
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
  ChangeWebhookDocs,
  CreateWebhookDocs,
  DeleteWebhookDocs,
  GetWebhookDocs,
  ListAttemptsDocs,
  ListWebhooksDocs,
  NewSecretDocs,
  ReplayDocs,
  TestWebhookDocs,
} from './webhooks.docs';
import { WebhooksService } from './webhooks.service';

const WebhookId = () => IdParam('webhook_id');

@ApiTags('Webhooks')
@Controller('webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly replays: ReplaysService,
  ) {}

  @Post()
  @CreateWebhookDocs()
  @Scopes('events:write')
  createWebhook(@CurrentUserId() userId: number, @Body() body: NewWebhookRequest): Promise<CreatedWebhook> {
    return this.webhooks.create(userId, body);
  }

  @Get()
  @ListWebhooksDocs()
  @Scopes('events:read')
  listWebhooks(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<WebhooksPage> {
    return this.webhooks.list(userId, page);
  }

  @Get(':webhook_id')
  @GetWebhookDocs()
  @Scopes('events:read')
  getWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<WebhookOut> {
    return this.webhooks.get(userId, webhookId);
  }

  @Patch(':webhook_id')
  @ChangeWebhookDocs()
  @Scopes('events:write')
  updateWebhook(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() body: ChangedWebhookRequest,
  ): Promise<WebhookOut> {
    return this.webhooks.change(userId, webhookId, body);
  }

  @Delete(':webhook_id')
  @HttpCode(204)
  @DeleteWebhookDocs()
  @Scopes('events:write')
  async deleteWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<void> {
    await this.webhooks.delete(userId, webhookId);
  }

  @Post(':webhook_id/secret')
  @HttpCode(200)
  @NewSecretDocs()
  @Scopes('events:write')
  rotateWebhookSecret(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() { overlap_hours: overlapHours }: NewSecretRequest,
  ): Promise<NewSecret> {
    return this.webhooks.renewSecret(userId, webhookId, overlapHours);
  }

  @Get(':webhook_id/attempts')
  @ListAttemptsDocs()
  @Scopes('events:read')
  listWebhookAttempts(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Query() page: PageQuery,
  ): Promise<AttemptsPage> {
    return this.webhooks.listAttempts(userId, webhookId, page);
  }

  @Post(':webhook_id/replay')
  @HttpCode(200)
  @ReplayDocs()
  @Scopes('events:write')
  replayEvents(
    @CurrentUserId() userId: number,
    @WebhookId() webhookId: number,
    @Body() { event_id: eventId, since, after, include_delivered: includeDelivered }: ReplayRequest,
  ): Promise<ReplayedOut> {
    return this.replays.replay(userId, webhookId, { eventId, since, after, includeDelivered });
  }

  @Post(':webhook_id/test')
  @HttpCode(204)
  @TestWebhookDocs()
  @Scopes('events:write')
  async testWebhook(@CurrentUserId() userId: number, @WebhookId() webhookId: number): Promise<void> {
    await this.replays.test(userId, webhookId);
  }
}
