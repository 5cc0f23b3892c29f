import { Injectable } from '@nestjs/common';
import { type PageRequest, readPage } from '../../http';
import {
  ForgottenOrdersService,
  type ForgottenTerms,
  type OrphanOut,
  OrphansService,
  type OrphanState,
} from '../../inventory';
import { LedgerService } from '../../ledger';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { OrphanMark, OrphansPage } from './staff-orphans.dto';

/** What is null or left out counts as any. */
export interface OrphanFilter {
  readonly state?: OrphanState | null | undefined;
  readonly tag?: string | null | undefined;
}

/** To whom orphans are delivered, and for how much. */
export interface OrphanDelivery extends ForgottenTerms {
  readonly userId: number;
  /** Null: all of the tag that are undecided. */
  readonly count?: number | null | undefined;
  readonly reason: string;
}

/** What staff do with orphans, over HTTP and on the command line. */
@Injectable()
export class StaffOrphansService {
  constructor(
    private readonly orphans: OrphansService,
    private readonly forgotten: ForgottenOrdersService,
    private readonly ledger: LedgerService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** A page of orphans, newest first. The cursor is the id of the last orphan of the previous page. */
  list({ state = null, tag = null }: OrphanFilter, page: PageRequest): Promise<OrphansPage> {
    return readPage(page, (wider) => this.orphans.list({ state, tag }, wider));
  }

  /**
   * Gives an orphan to the user of a closed purchase, free of charge.
   *
   * @throws OrphanNotFound, OrphanAssigned, OrderNotFound, OrphansGoToPurchases, ProxyBelongsToAnother,
   *   OwnAccount
   */
  assign(audit: AuditContext, orphanId: number, orderId: number, reason: string): Promise<OrphanOut> {
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
   * @throws OrphanNotFound, OrphanAssigned, UserNotFound, TooFewOrphans, OrphansGoToPurchases,
   *   OrphansIncomplete, TaggedUserFirst, InsufficientBalance, ProxyBelongsToAnother, OwnAccount
   */
  deliver(
    audit: AuditContext,
    orphanId: number,
    { userId, reason, ...terms }: OrphanDelivery,
  ): Promise<OrphanOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => {
        audit.assertConcernsAnother(userId);
        return this.orphans.lockUndecided(orphanId, manager);
      },
      change: async (manager) => {
        await this.ledger.available(userId);
        await this.forgotten.deliver(orphanId, userId, terms, manager);
        return this.orphans.get(orphanId, manager);
      },
    });
  }

  /** @throws OrphanNotFound, OrphanAssigned */
  mark(audit: AuditContext, orphanId: number, state: OrphanMark, reason: string): Promise<OrphanOut> {
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.orphans.lockUndecided(orphanId, manager),
      change: async (manager) => {
        await this.orphans.mark(orphanId, state, manager);
        return this.orphans.get(orphanId, manager);
      },
    });
  }
}
