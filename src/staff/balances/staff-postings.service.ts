import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRows } from '../../database';
import { POSTED_ENTRY, type PostedEntryOut } from '../../ledger';
import type { Idempotency } from '../../orders';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService, type RecordChange } from '../audit-log/audit-log.service';
import type { PostingOut } from './staff-balances.dto';

/** Posts ledger entries for staff: one for each idempotency key, however often it is retried. */
@Injectable()
export class StaffPostingsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  /**
   * @param post posts the entry, with the id of its record in the audit log
   * @throws IdempotencyKeyReused, TransactionOutcomeUnknown
   */
  post(
    audit: AuditContext,
    idempotency: Idempotency,
    post: (manager: EntityManager, record: RecordChange) => Promise<PostedEntryOut>,
  ): Promise<PostingOut> {
    return this.auditLog.recordOnce(audit, idempotency, post, async (actionId) => {
      const [entry] = await queryRows<PostedEntryOut>(
        this.dataSource,
        `SELECT ${POSTED_ENTRY} FROM ledger_entries entry WHERE action_id = $1`,
        [actionId],
      );
      return entry ?? null;
    });
  }
}
