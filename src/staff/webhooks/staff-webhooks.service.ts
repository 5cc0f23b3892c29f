import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Conditions, type Queryable, queryRows } from '../../database';
import { type PageRequest, readPage } from '../../http';
import { blockReceiver, unblockReceiver, WebhookNotFound } from '../../webhooks';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { usernameOf, withUserLinks } from '../links';
import type { StaffWebhookOut, StaffWebhooksPage, StaffWebhooksQuery } from './staff-webhooks.dto';

/** A webhook as stored in the audit log. */
type WebhookRecord = Omit<StaffWebhookOut, 'links'>;

/** Columns of a WebhookRecord. Only the URL's host is included, because the rest may contain a secret. */
const COLUMNS = `
  id, user_id, ${usernameOf('user_id')} AS username, substring(url FROM '^[^:]+://([^/?#]*)') AS host, types,
  created_at, disabled_at, disabled_reason, failing_since`;

@Injectable()
export class StaffWebhooksService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  list(query: StaffWebhooksQuery): Promise<StaffWebhooksPage> {
    const { user_id: userId, disabled, failing } = query;
    const find = async (page: PageRequest) => {
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
    };
    return readPage(query, find);
  }

  /** Disables a webhook and its receiver for the customer, until {@link enable}. @throws WebhookNotFound */
  disable(audit: AuditContext, webhookId: number, reason: string): Promise<StaffWebhookOut> {
    return this.change(audit, webhookId, reason, blockReceiver);
  }

  /** Enables a webhook and its receiver for the customer. @throws WebhookNotFound */
  enable(audit: AuditContext, webhookId: number, reason: string): Promise<StaffWebhookOut> {
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
