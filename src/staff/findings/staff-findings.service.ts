import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { readPage } from '../../http';
import { LedgerService } from '../../ledger';
import {
  ForgottenOrdersService,
  type FoundProlongationOut,
  type OrphanOut,
  OrphansService,
} from '../../sync';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type {
  ChargeRequest,
  DeliveryRequest,
  FoundProlongationsPage,
  FoundProlongationsQuery,
  OrphanMark,
  OrphansPage,
  OrphansQuery,
} from './staff-findings.dto';

/**
 * Staff's decisions about the findings of sweeps, over HTTP and on the command line: proxies and
 * prolongations that the provider shows and no order accounts for.
 */
@Injectable()
export class StaffFindingsService {
  constructor(
    private readonly orphans: OrphansService,
    private readonly forgotten: ForgottenOrdersService,
    private readonly ledger: LedgerService,
    private readonly auditLog: AuditLogService,
  ) {}

  listOrphans(query: OrphansQuery): Promise<OrphansPage> {
    return readPage(query, (page) => this.orphans.list(query, page));
  }

  /**
   * Gives an orphan to the user of a closed purchase, free of charge.
   *
   * @throws OrphanNotFound, OrphanAssigned, OrderNotFound, OrderNotAssignable, ProxyBelongsToAnother,
   *   OwnAccount
   */
  assignOrphan(audit: AuditContext, orphanId: number, orderId: number, reason: string): Promise<OrphanOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.orphans.lockUndecided(orphanId, manager);
      const after = Object.assign({}, before, { state: 'assigned', order_id: orderId });
      const actionId = await record({ reason, before, after });
      audit.assertConcernsAnother(await this.orphans.assign(orphanId, orderId, actionId, manager));
      return this.orphans.get(orphanId, manager);
    });
  }

  /**
   * Delivers orphans of one tag to a user as a purchase, and charges for it.
   *
   * @throws OrphanNotFound, OrphanAssigned, UserNotFound, TooFewOrphans, OrderNotAssignable,
   *   OrphansIncomplete, TaggedUserFirst, InsufficientBalance, ProxyBelongsToAnother, OwnAccount
   */
  async deliverOrphans(
    audit: AuditContext,
    orphanId: number,
    { user_id: userId, reason, ...terms }: DeliveryRequest,
  ): Promise<OrphanOut> {
    audit.assertConcernsAnother(userId);
    return this.decideOrphan(audit, orphanId, reason, async (manager) => {
      await this.ledger.available(userId);
      await this.forgotten.deliver(orphanId, userId, terms, manager);
    });
  }

  /** @throws OrphanNotFound, OrphanAssigned */
  markOrphan(audit: AuditContext, orphanId: number, state: OrphanMark, reason: string): Promise<OrphanOut> {
    return this.decideOrphan(audit, orphanId, reason, (manager) =>
      this.orphans.mark(orphanId, state, manager),
    );
  }

  private decideOrphan(
    audit: AuditContext,
    id: number,
    reason: string,
    decision: (manager: EntityManager) => Promise<void>,
  ): Promise<OrphanOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.orphans.lockUndecided(id, manager),
      change: async (manager) => {
        await decision(manager);
        return this.orphans.get(id, manager);
      },
    });
  }

  listProlongations(query: FoundProlongationsQuery): Promise<FoundProlongationsPage> {
    return readPage(query, (page) => this.forgotten.listProlongations(query.state, page));
  }

  /**
   * Charges the user for a found prolongation.
   *
   * @throws FoundProlongationNotFound, FoundProlongationDecided, InsufficientBalance, OwnAccount
   */
  chargeProlongation(
    audit: AuditContext,
    id: number,
    { reason, ...terms }: ChargeRequest,
  ): Promise<FoundProlongationOut> {
    return this.decideProlongation(audit, id, reason, (manager) =>
      this.forgotten.chargeProlongation(id, terms, manager),
    );
  }

  /**
   * Writes a found prolongation off as our cost.
   *
   * @throws FoundProlongationNotFound, FoundProlongationDecided, OwnAccount
   */
  writeOffProlongation(audit: AuditContext, id: number, reason: string): Promise<FoundProlongationOut> {
    return this.decideProlongation(audit, id, reason, (manager) =>
      this.forgotten.writeOffProlongation(id, manager),
    );
  }

  private decideProlongation(
    audit: AuditContext,
    id: number,
    reason: string,
    decision: (manager: EntityManager) => Promise<void>,
  ): Promise<FoundProlongationOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.forgotten.lockProlongation(id, manager),
      change: async (manager, before) => {
        audit.assertConcernsAnother(before.user_id);
        await decision(manager);
        return this.forgotten.getProlongation(id, manager);
      },
    });
  }
}
