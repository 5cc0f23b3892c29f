import { Injectable } from '@nestjs/common';
import {
  type MaintenanceOut,
  MaintenanceService,
  type MissingProxiesOut,
  MissingProxiesService,
} from '../../sync';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { EndMaintenanceRequest } from './staff-system.dto';

@Injectable()
export class StaffSystemService {
  constructor(
    private readonly missingProxies: MissingProxiesService,
    private readonly maintenance: MaintenanceService,
    private readonly auditLog: AuditLogService,
  ) {}

  countMissing(): Promise<MissingProxiesOut> {
    return this.missingProxies.countMissing();
  }

  /**
   * @param proxies number of missing proxies as shown to the caller
   * @returns the number of withdrawn proxies, and the number of their users
   * @throws MissingProxiesChanged
   */
  withdrawMissing(audit: AuditContext, proxies: number, reason: string): Promise<MissingProxiesOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.missingProxies.countMissing(manager);
      await this.missingProxies.decide(proxies, manager);
      await record({ reason, before, after: await this.missingProxies.countMissing(manager) });
      return before;
    });
  }

  showMaintenance(): Promise<MaintenanceOut> {
    return this.maintenance.show();
  }

  /**
   * @param skippedIds number of ids to skip in each table; must exceed those issued since the restore point
   */
  beginMaintenance(audit: AuditContext, skippedIds: number, reason: string): Promise<MaintenanceOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.maintenance.show(manager),
      change: (manager) => this.maintenance.begin(skippedIds, manager),
    });
  }

  /** @throws NotInMaintenance, MaintenanceNotOver, DatabaseWasRestored */
  endMaintenance(
    audit: AuditContext,
    { reason, nothing_was_lost: nothingWasLost }: EndMaintenanceRequest,
  ): Promise<MaintenanceOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.maintenance.show(manager),
      change: (manager) => this.maintenance.end(nothingWasLost, manager),
    });
  }
}
