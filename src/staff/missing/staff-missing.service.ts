import { Injectable } from '@nestjs/common';
import { type MissingProxies, WithdrawalsService } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';

/** What staff decide about proxies that are missing at the provider. */
@Injectable()
export class StaffMissingService {
  constructor(
    private readonly withdrawals: WithdrawalsService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** What a withdrawal would change. */
  count(): Promise<MissingProxies> {
    return this.withdrawals.countMissing();
  }

  /** @throws MissingProxiesChanged */
  withdraw(audit: AuditContext, proxies: number, reason: string): Promise<MissingProxies> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.withdrawals.countMissing(manager);
      await this.withdrawals.decide(proxies, manager);
      await record({ reason, before, after: await this.withdrawals.countMissing(manager) });
      return before;
    });
  }
}
