import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Conditions, type Queryable, queryRows } from '../../database';
import { IdParam, readPage } from '../../http';
import { blockReceiver, unblockReceiver, WebhookNotFound } from '../../webhooks';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { ReasonRequest } from '../fields';
import { usernameSql, withUserLinks } from '../links';
import { CurrentAudit, notFound, StaffRoute } from '../staff-route';
import { StaffWebhookOut, StaffWebhooksPage, StaffWebhooksQuery } from './staff-webhooks.dto';

/** Webhook as stored in the audit log. */
type WebhookRecord = Omit<StaffWebhookOut, 'links'>;

/** Shows only the URL's host, because the path may contain a secret. */
const COLUMNS = `
  id, user_id, ${usernameSql('user_id')} AS username, substring(url FROM '^[^:]+://([^/?#]*)') AS host, types,
  created_at, disabled_at, disabled_reason, failing_since`;

@ApiTags('Users')
@Controller('staff/webhooks')
export class StaffWebhooksController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get()
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.list',
    summary: 'List webhooks',
    description:
      'For support, when a customer receives no events: disabled and failing webhooks, newest first. ' +
      'Secrets and full URLs are never shown.',
    response: { description: 'A page of webhooks, newest first', type: StaffWebhooksPage },
  })
  list(@Query() query: StaffWebhooksQuery): Promise<StaffWebhooksPage> {
    const { user_id: userId, disabled, failing } = query;
    return readPage(query, async (page) => {
      const conditions = new Conditions();
      conditions.add('deleted_at IS NULL');
      conditions.by(userId, (id) => `user_id = ${id}`);
      if (disabled !== null) conditions.add(`disabled_at IS ${disabled ? 'NOT NULL' : 'NULL'}`);
      if (failing) conditions.add('failing_since IS NOT NULL AND disabled_at IS NULL');
      const found = await queryRows<WebhookRecord>(
        this.dataSource,
        `SELECT ${COLUMNS} FROM webhooks ${conditions.toPageSql(page)}`,
        conditions.parameters,
      );
      return found.map(withUserLinks);
    });
  }

  @Post(':webhook_id/disable')
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.disable',
    on: 'webhook',
    summary: 'Disable a webhook',
    description:
      'For operators, when a receiver (host and port) must not receive any more events. Disables all ' +
      "of the customer's webhooks at this receiver, including those that the customer later creates or " +
      'moves there, even after this webhook is deleted. The customer is notified by an event, and ' +
      'cannot enable them. Unsent events are kept. If the webhook is already disabled, only the reason ' +
      'is set; from then on, only staff can enable it.',
    response: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound(WebhookNotFound) },
  })
  disable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.change(audit, webhookId, reason, blockReceiver);
  }

  @Post(':webhook_id/enable')
  @StaffRoute({
    scope: 'staff:users',
    action: 'webhooks.enable',
    on: 'webhook',
    summary: 'Enable a webhook',
    description:
      'For operators, when the matter is resolved. Waiting and future events are sent to the webhook. ' +
      "The customer's other webhooks to the same receiver that staff disabled are enabled again as " +
      'well.',
    response: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound(WebhookNotFound) },
  })
  enable(
    @CurrentAudit() audit: AuditContext,
    @IdParam('webhook_id') webhookId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<StaffWebhookOut> {
    return this.change(audit, webhookId, reason, unblockReceiver);
  }

  private async change(
    audit: AuditContext,
    webhookId: number,
    reason: string,
    work: typeof blockReceiver,
  ): Promise<StaffWebhookOut> {
    const after = await this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => read(manager, webhookId),
      change: async (manager, before) => {
        await work(manager, before.user_id, webhookId);
        return read(manager, webhookId);
      },
    });
    return withUserLinks(after);
  }
}

async function read(queryable: Queryable, webhookId: number): Promise<WebhookRecord> {
  const [webhook] = await queryRows<WebhookRecord>(
    queryable,
    `SELECT ${COLUMNS} FROM webhooks WHERE id = $1 AND deleted_at IS NULL`,
    [webhookId],
  );
  if (!webhook) throw new WebhookNotFound();
  return webhook;
}
