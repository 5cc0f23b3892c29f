import { Injectable } from '@nestjs/common';
import {
  type MissingProxiesOut,
  type RecoveryOut,
  RecoveryService,
  WithdrawalsService,
} from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { EndRecoveryRequest } from './staff-system.dto';

/** Operators' decisions about rented proxies that the provider does not list, and about a recovery. */
@Injectable()
export class StaffSystemService {
  constructor(
    private readonly withdrawals: WithdrawalsService,
    private readonly recovery: RecoveryService,
    private readonly auditLog: AuditLogService,
  ) {}

  countMissing(): Promise<MissingProxiesOut> {
    return this.withdrawals.countMissing();
  }

  /**
   * @param proxies how many missing ones the caller has seen
   * @returns the withdrawn proxies
   * @throws MissingProxiesChanged
   */
  withdrawMissing(audit: AuditContext, proxies: number, reason: string): Promise<MissingProxiesOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.withdrawals.countMissing(manager);
      await this.withdrawals.decide(proxies, manager);
      await record({ reason, before, after: await this.withdrawals.countMissing(manager) });
      return before;
    });
  }

  showRecovery(): Promise<RecoveryOut> {
    return this.recovery.show();
  }

  /** @param skippedIds how many ids of each table are skipped */
  beginRecovery(audit: AuditContext, skippedIds: number, reason: string): Promise<RecoveryOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.recovery.show(manager),
      change: (manager) => this.recovery.begin(skippedIds, manager),
    });
  }

  /** @throws NoRecovery, RecoveryNotOver, RecoveryIsNoPrecaution */
  endRecovery(
    audit: AuditContext,
    { reason, nothing_was_lost: nothingWasLost }: EndRecoveryRequest,
  ): Promise<RecoveryOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.recovery.show(manager),
      change: (manager) => this.recovery.end(nothingWasLost, manager),
    });
  }
}
