import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import { WebhookNotFound } from '../../webhooks';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, notFound, StaffRoute } from '../staff-route';
import { StaffWebhookOut, StaffWebhooksPage, StaffWebhooksQuery } from './staff-webhooks.dto';
import { StaffWebhooksService } from './staff-webhooks.service';

@ApiTags('Users')
@Controller('staff/webhooks')
export class StaffWebhooksController {
  constructor(private readonly webhooks: StaffWebhooksService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.list',
    summary: 'List webhooks',
    description:
      'For support, when a customer gets no events: lists disabled and failing webhooks. Secrets and ' +
      'whole URLs are never shown. Newest first.',
    response: { description: 'A page of webhooks, newest first', type: StaffWebhooksPage },
  })
  list(@Query() query: StaffWebhooksQuery): Promise<StaffWebhooksPage> {
    return this.webhooks.list(query);
  }

  @Post(':webhook_id/disable')
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.disable',
    on: 'webhook',
    summary: 'Disable a webhook',
    description:
      'For operators, when a receiver (host and port) must get no more events. Disables every ' +
      'webhook of the customer there, also those that the customer creates there or moves to it ' +
      'later, even after this webhook is deleted. The customer gets an event, and cannot enable ' +
      'them. Unsent events wait. If the webhook is already disabled, only the reason is set: from ' +
      'then on only staff can enable it.',
    response: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound(WebhookNotFound) },
  })
  disable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.webhooks.disable(audit, webhookId, reason);
  }

  @Post(':webhook_id/enable')
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.enable',
    on: 'webhook',
    summary: 'Enable a webhook',
    description:
      'For operators, when the matter is resolved. Waiting and future events are sent to it. ' +
      'Other webhooks that staff disabled at its receiver for this customer are enabled as well.',
    response: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound(WebhookNotFound) },
  })
  enable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.webhooks.enable(audit, webhookId, reason);
  }
}
