import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { EntityManager } from 'typeorm';
import { IdParam, readPage } from '../../http';
import { InsufficientBalance, LedgerService } from '../../ledger';
import { OrderNotFound, ProxyBelongsToAnother } from '../../orders';
import {
  FoundProlongationDecided,
  FoundProlongationNotFound,
  FoundProlongationOut,
  OrderNotAssignable,
  UnmatchedProxyAssigned,
  UnmatchedProxyNotFound,
  UnmatchedProxyOut,
  UnmatchedProxiesIncomplete,
  NamedUserFirst,
  TooFewUnmatchedProxies,
  ForgottenOrdersService,
  UnmatchedProxiesService,
} from '../../sync';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { ReasonRequest } from '../fields';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, StaffRoute } from '../staff-route';
import {
  AssignmentRequest,
  ChargeProlongationRequest,
  DeliveryRequest,
  FoundProlongationsPage,
  FoundProlongationsQuery,
  MarkUnmatchedProxyRequest,
  UnmatchedProxiesPage,
  UnmatchedProxiesQuery,
} from './staff-discrepancies.dto';

@ApiTags('Orders')
@Controller('staff')
export class StaffDiscrepanciesController {
  constructor(
    private readonly unmatched: UnmatchedProxiesService,
    private readonly forgotten: ForgottenOrdersService,
    private readonly ledger: LedgerService,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get('unmatched-proxies')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'unmatched-proxies.list',
    summary: 'List unmatched proxies',
    description:
      'For support and accounting: proxies that the provider lists under our order references but that ' +
      'match no order, newest first. `state` is `open`, `assigned` or `written-off`; without it, ' +
      'unmatched proxies in every state are listed.',
    response: { description: 'A page of unmatched proxies, newest first', type: UnmatchedProxiesPage },
  })
  listUnmatchedProxies(@Query() query: UnmatchedProxiesQuery): Promise<UnmatchedProxiesPage> {
    return readPage(query, (page) => this.unmatched.list(query, page));
  }

  @Post('unmatched-proxies/:unmatched_proxy_id/assign')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'unmatched-proxies.assign',
    on: 'unmatched-proxy',
    summary: 'Assign an unmatched proxy',
    description:
      'For support, when the owner of the proxy is known: the user of the named purchase gets it free ' +
      'of charge. To charge for it, debit the balance as well. An assignment cannot be undone.',
    response: { description: 'The updated unmatched proxy', type: UnmatchedProxyOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(UnmatchedProxyNotFound, OrderNotFound),
      409: ['Nothing was changed', UnmatchedProxyAssigned, OrderNotAssignable, ProxyBelongsToAnother],
    },
  })
  assign(
    @CurrentAudit() audit: AuditContext,
    @IdParam('unmatched_proxy_id') unmatchedProxyId: number,
    @Body() { order_id: orderId, reason }: AssignmentRequest,
  ): Promise<UnmatchedProxyOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.unmatched.lockUndecided(unmatchedProxyId, manager);
      const after = Object.assign({}, before, { state: 'assigned', order_id: orderId });
      const actionId = await record({ reason, before, after });
      audit.assertConcernsAnother(await this.unmatched.assign(unmatchedProxyId, orderId, actionId, manager));
      return this.unmatched.get(unmatchedProxyId, manager);
    });
  }

  @Post('unmatched-proxies/:unmatched_proxy_id/deliver')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'unmatched-proxies.deliver',
    on: 'unmatched-proxy',
    summary: 'Deliver unmatched proxies and charge the user',
    description:
      'For support, after the database was restored to an earlier point in time: turns the proxies ' +
      'that were bought under an order reference since then into a purchase of the user, at `price` ' +
      "per proxy. If the order that the reference names was lost, the purchase gets that order's " +
      'number. The reference names only the first order of a batch; use `count` to deliver the shares ' +
      'of the other users.',
    response: { description: 'The updated unmatched proxy', type: UnmatchedProxyOut },
    errors: {
      400: ["The user's balance is too low", InsufficientBalance],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(UnmatchedProxyNotFound, UserNotFound),
      409: [
        'Nothing was changed',
        UnmatchedProxyAssigned,
        TooFewUnmatchedProxies,
        NamedUserFirst,
        OrderNotAssignable,
        UnmatchedProxiesIncomplete,
        ProxyBelongsToAnother,
      ],
    },
  })
  async deliver(
    @CurrentAudit() audit: AuditContext,
    @IdParam('unmatched_proxy_id') unmatchedProxyId: number,
    @Body() delivery: DeliveryRequest,
  ): Promise<UnmatchedProxyOut> {
    const { user_id: userId, reason, ...terms } = delivery;
    audit.assertConcernsAnother(userId);
    return this.decideUnmatchedProxy(audit, unmatchedProxyId, reason, async (manager) => {
      await this.ledger.available(userId);
      await this.forgotten.deliver(unmatchedProxyId, userId, terms, manager);
    });
  }

  @Post('unmatched-proxies/:unmatched_proxy_id/mark')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'unmatched-proxies.mark',
    on: 'unmatched-proxy',
    summary: 'Mark an unmatched proxy',
    description:
      'For accounting: marks the unmatched proxy as `written-off` if it has no customer and remains ' +
      'our cost, or as `open` to review it again.',
    response: { description: 'The updated unmatched proxy', type: UnmatchedProxyOut },
    errors: { 404: notFound(UnmatchedProxyNotFound), 409: ['Nothing was changed', UnmatchedProxyAssigned] },
  })
  mark(
    @CurrentAudit() audit: AuditContext,
    @IdParam('unmatched_proxy_id') unmatchedProxyId: number,
    @Body() { state, reason }: MarkUnmatchedProxyRequest,
  ): Promise<UnmatchedProxyOut> {
    return this.decideUnmatchedProxy(audit, unmatchedProxyId, reason, (manager) =>
      this.unmatched.mark(unmatchedProxyId, state, manager),
    );
  }

  @Get('found-prolongations')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.list',
    summary: 'List found prolongations',
    description:
      'For support and accounting, after the database was restored to an earlier point in time: ' +
      'prolongations that the provider shows but that match no order, newest first. The rentals of the ' +
      'proxies already have their new end.',
    response: { description: 'A page of found prolongations, newest first', type: FoundProlongationsPage },
  })
  listProlongations(@Query() query: FoundProlongationsQuery): Promise<FoundProlongationsPage> {
    return readPage(query, (page) => this.forgotten.listProlongations(query.state, page));
  }

  @Post('found-prolongations/:prolongation_id/charge')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.charge',
    on: 'found-prolongation',
    summary: 'Charge a found prolongation',
    description:
      'For support: turns the prolongation into an order of the user, at `price`. Several ' +
      'prolongations of one proxy are found as one. To charge only the first, send its `period`; the ' +
      'rest stays open.',
    response: { description: 'The updated prolongation', type: FoundProlongationOut },
    errors: {
      400: ["The user's balance is too low", InsufficientBalance],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(FoundProlongationNotFound),
      409: ['Nothing was changed', FoundProlongationDecided],
    },
  })
  charge(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() charge: ChargeProlongationRequest,
  ): Promise<FoundProlongationOut> {
    const { reason, ...terms } = charge;
    return this.decideProlongation(audit, id, reason, (manager) =>
      this.forgotten.chargeProlongation(id, terms, manager),
    );
  }

  @Post('found-prolongations/:prolongation_id/write-off')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.write-off',
    on: 'found-prolongation',
    summary: 'Write off a found prolongation',
    description: 'For accounting: the user keeps the prolongation, and we bear its cost.',
    response: { description: 'The updated prolongation', type: FoundProlongationOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(FoundProlongationNotFound),
      409: ['Nothing was changed', FoundProlongationDecided],
    },
  })
  writeOff(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<FoundProlongationOut> {
    return this.decideProlongation(audit, id, reason, (manager) =>
      this.forgotten.writeOffProlongation(id, manager),
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
