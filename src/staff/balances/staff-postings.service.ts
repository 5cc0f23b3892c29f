import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRows, untilReplicated, violatedConstraint } from '../../database';
import { POSTED_ENTRY, type PostedEntryOut } from '../../ledger';
import { type Idempotency, IdempotencyKeyReused } from '../../orders';
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
   * @param idempotency the key belongs to the member of staff; the command line has one namespace
   * @param post posts the entry, with the id of its record in the audit log
   * @throws IdempotencyKeyReused, TransactionOutcomeUnknown
   */
  async post(
    audit: AuditContext,
    idempotency: Idempotency,
    post: (manager: EntityManager, record: RecordChange) => Promise<PostedEntryOut>,
  ): Promise<PostingOut> {
    const earlier = await this.findEarlier(audit, idempotency);
    if (earlier) return Object.assign(earlier, { replayed: true });
    try {
      const entry = await this.auditLog.recordChange(audit, (manager, record) =>
        post(manager, (change) => record({ ...change, idempotency })),
      );
      return Object.assign(entry, { replayed: false });
    } catch (error) {
      // A request with the same key was committed in the meantime.
      const isRepeated = violatedConstraint(error) === 'audit_log_idempotency_key';
      const entry = isRepeated ? await this.findEarlier(audit, idempotency) : null;
      if (!entry) throw error;
      return Object.assign(entry, { replayed: true });
    }
  }

  /** Finds an entry that no failover can undo. @throws IdempotencyKeyReused */
  private async findEarlier(
    { caller }: AuditContext,
    idempotency: Idempotency,
  ): Promise<PostedEntryOut | null> {
    const [earlier] = await queryRows<PostedEntryOut & { hash: Buffer }>(
      this.dataSource,
      `SELECT ${POSTED_ENTRY}, request_hash AS hash
         FROM audit_log action JOIN ledger_entries entry ON entry.action_id = action.id
        WHERE action.user_id ${caller ? '= $2' : 'IS NULL'} AND idempotency_key = $1`,
      [idempotency.key, ...(caller ? [caller.userId] : [])],
    );
    if (!earlier) return null;
    await untilReplicated(this.dataSource);
    const { hash, ...entry } = earlier;
    if (!hash.equals(idempotency.requestHash)) throw new IdempotencyKeyReused(idempotency.key);
    return entry;
  }
}
