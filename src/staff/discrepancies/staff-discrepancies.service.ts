import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { readPage } from '../../http';
import { LedgerService } from '../../ledger';
import {
  ForgottenOrdersService,
  type FoundProlongationOut,
  type UnmatchedProxyOut,
  UnmatchedProxiesService,
} from '../../sync';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type {
  ChargeRequest,
  DeliveryRequest,
  FoundProlongationsPage,
  FoundProlongationsQuery,
  UnmatchedProxyMark,
  UnmatchedProxiesPage,
  UnmatchedProxiesQuery,
} from './staff-discrepancies.dto';

/**
 * Executes staff's decisions about the discrepancies of sweeps, over HTTP and on the command line. They
 * concern proxies and prolongations that the provider shows and that belong to no order.
 */
@Injectable()
export class StaffDiscrepanciesService {
  constructor(
    private readonly unmatched: UnmatchedProxiesService,
    private readonly forgotten: ForgottenOrdersService,
    private readonly ledger: LedgerService,
    private readonly auditLog: AuditLogService,
  ) {}

  listUnmatchedProxies(query: UnmatchedProxiesQuery): Promise<UnmatchedProxiesPage> {
    return readPage(query, (page) => this.unmatched.list(query, page));
  }

  /**
   * Gives an unmatched proxy to the user of a closed purchase, free of charge.
   *
   * @throws UnmatchedProxyNotFound, UnmatchedProxyAssigned, OrderNotFound, OrderNotAssignable,
   *   ProxyBelongsToAnother, OwnAccount
   */
  assignUnmatchedProxy(
    audit: AuditContext,
    unmatchedProxyId: number,
    orderId: number,
    reason: string,
  ): Promise<UnmatchedProxyOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.unmatched.lockUndecided(unmatchedProxyId, manager);
      const after = Object.assign({}, before, { state: 'assigned', order_id: orderId });
      const actionId = await record({ reason, before, after });
      audit.assertConcernsAnother(await this.unmatched.assign(unmatchedProxyId, orderId, actionId, manager));
      return this.unmatched.get(unmatchedProxyId, manager);
    });
  }

  /**
   * Delivers unmatched proxies of one order reference to a user as a purchase, and charges for it.
   *
   * @throws UnmatchedProxyNotFound, UnmatchedProxyAssigned, UserNotFound, TooFewUnmatchedProxies,
   *   OrderNotAssignable, UnmatchedProxiesIncomplete, NamedUserFirst, InsufficientBalance,
   *   ProxyBelongsToAnother, OwnAccount
   */
  async deliverUnmatchedProxies(
    audit: AuditContext,
    unmatchedProxyId: number,
    { user_id: userId, reason, ...terms }: DeliveryRequest,
  ): Promise<UnmatchedProxyOut> {
    audit.assertConcernsAnother(userId);
    return this.decideUnmatchedProxy(audit, unmatchedProxyId, reason, async (manager) => {
      await this.ledger.available(userId);
      await this.forgotten.deliver(unmatchedProxyId, userId, terms, manager);
    });
  }

  /**
   * Writes an unmatched proxy off, or opens it again. @throws UnmatchedProxyNotFound, UnmatchedProxyAssigned
   */
  markUnmatchedProxy(
    audit: AuditContext,
    unmatchedProxyId: number,
    state: UnmatchedProxyMark,
    reason: string,
  ): Promise<UnmatchedProxyOut> {
    return this.decideUnmatchedProxy(audit, unmatchedProxyId, reason, (manager) =>
      this.unmatched.mark(unmatchedProxyId, state, manager),
    );
  }

  private decideUnmatchedProxy(
    audit: AuditContext,
    id: number,
    reason: string,
    decision: (manager: EntityManager) => Promise<void>,
  ): Promise<UnmatchedProxyOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.unmatched.lockUndecided(id, manager),
      change: async (manager) => {
        await decision(manager);
        return this.unmatched.get(id, manager);
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
