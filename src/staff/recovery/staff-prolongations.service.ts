import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
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
    return readPage(page, (wider) => this.forgotten.listProlongations(state, wider));
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
    return this.decide(audit, id, reason, (manager) => this.forgotten.chargeProlongation(id, terms, manager));
  }

  /**
   * Leaves it our cost.
   *
   * @throws FoundProlongationNotFound, FoundProlongationDecided, OwnAccount
   */
  writeOff(audit: AuditContext, id: number, reason: string): Promise<FoundProlongationOut> {
    return this.decide(audit, id, reason, (manager) => this.forgotten.writeOffProlongation(id, manager));
  }

  private decide(
    audit: AuditContext,
    id: number,
    reason: string,
    work: (manager: EntityManager) => Promise<unknown>,
  ): Promise<FoundProlongationOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.forgotten.lockProlongation(id, manager),
      change: async (manager, before) => {
        audit.assertConcernsAnother(before.user_id);
        await work(manager);
        return this.forgotten.getProlongation(id, manager);
      },
    });
  }
}
