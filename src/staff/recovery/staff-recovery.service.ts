import { Injectable } from '@nestjs/common';
import { type RecoveryOut, RecoveryService } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { EndRecoveryRequest } from './end-recovery.request';

@Injectable()
export class StaffRecoveryService {
  constructor(
    private readonly recovery: RecoveryService,
    private readonly auditLog: AuditLogService,
  ) {}

  show(): Promise<RecoveryOut> {
    return this.recovery.show();
  }

  /** @param skippedIds how many ids of each table are skipped */
  begin(audit: AuditContext, skippedIds: number, reason: string): Promise<RecoveryOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.recovery.show(manager),
      change: (manager) => this.recovery.begin(skippedIds, manager),
    });
  }

  /** @throws NoRecovery, RecoveryNotOver, RecoveryIsNoPrecaution */
  end(
    audit: AuditContext,
    { reason, nothing_was_lost: nothingWasLost }: EndRecoveryRequest,
  ): Promise<RecoveryOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.recovery.show(manager),
      change: (manager) => this.recovery.end(nothingWasLost, manager),
    });
  }
}
