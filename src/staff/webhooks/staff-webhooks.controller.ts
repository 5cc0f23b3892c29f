import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { DisableWebhookDocs, EnableWebhookDocs, ListWebhooksDocs } from './staff-webhooks.docs';
import { type StaffWebhookOut, type StaffWebhooksPage, StaffWebhooksQuery } from './staff-webhooks.dto';
import { StaffWebhooksService } from './staff-webhooks.service';

@ApiTags('Users')
@Controller('staff/webhooks')
export class StaffWebhooksController {
  constructor(private readonly webhooks: StaffWebhooksService) {}

  @Get()
  @ListWebhooksDocs()
  @StaffRoute({ scope: 'staff:users', action: 'webhooks.list' })
  list(@Query() query: StaffWebhooksQuery): Promise<StaffWebhooksPage> {
    const { user_id: userId, disabled, failing } = query;
    return this.webhooks.list({ userId, disabled, failing }, query);
  }

  @Post(':webhook_id/disable')
  @HttpCode(200)
  @DisableWebhookDocs()
  @StaffRoute({ scope: 'staff:users', action: 'webhooks.disable', on: 'webhook' })
  disable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.webhooks.disable(audit, webhookId, reason);
  }

  @Post(':webhook_id/enable')
  @HttpCode(200)
  @EnableWebhookDocs()
  @StaffRoute({ scope: 'staff:users', action: 'webhooks.enable', on: 'webhook' })
  enable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.webhooks.enable(audit, webhookId, reason);
  }
}
