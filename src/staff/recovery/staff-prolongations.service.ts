import { Injectable } from '@nestjs/common';
import { type PageRequest, readPage } from '../../http';
import {
  ForgottenOrdersService,
  type ForgottenTerms,
  type FoundProlongationOut,
  type FoundProlongationState,
} from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { FoundProlongationsPage } from './staff-prolongations.dto';

/** What staff decide of prolongations that the provider shows and no order accounts for. */
@Injectable()
export class StaffProlongationsService {
  constructor(
    private readonly forgotten: ForgottenOrdersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** A page, newest first. The cursor is the id of the last one of the previous page. */
  list(state: FoundProlongationState | null, page: PageRequest): Promise<FoundProlongationsPage> {
    return readPage(
      page,
      (wider) => this.forgotten.listProlongations(state, wider),
      ({ id }) => id,
    );
  }

  /**
   * Charges the user for it.
   *
   * @throws FoundProlongationNotFound, FoundProlongationDecided, InsufficientBalance, OwnAccount
   */
  charge(
    audit: AuditContext,
    id: number,
    terms: ForgottenTerms,
    reason: string,
  ): Promise<FoundProlongationOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.forgotten.lockProlongation(id, manager);
      audit.assertConcernsAnother(before.user_id);
      await this.forgotten.chargeProlongation(id, terms, manager);
      const after = await this.forgotten.getProlongation(id, manager);
      await record({ reason, before, after });
      return after;
    });
  }

  /**
   * Leaves it our cost.
   *
   * @throws FoundProlongationNotFound, FoundProlongationDecided, OwnAccount
   */
  writeOff(audit: AuditContext, id: number, reason: string): Promise<FoundProlongationOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.forgotten.lockProlongation(id, manager);
      audit.assertConcernsAnother(before.user_id);
      await this.forgotten.writeOffProlongation(id, manager);
      const after = await this.forgotten.getProlongation(id, manager);
      await record({ reason, before, after });
      return after;
    });
  }
}
