import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import {
  OrderNotAssignable,
  OrphanAssigned,
  OrphanNotFound,
  OrphanOut,
  OrphansIncomplete,
  TaggedUserFirst,
  TooFewOrphans,
} from '../../inventory';
import { InsufficientBalance } from '../../ledger';
import { OrderNotFound, ProxyBelongsToAnother } from '../../orders';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, NOT_FOR_ONESELF, notFound, StaffRoute } from '../staff-route';
import {
  AssignmentRequest,
  DeliveryRequest,
  MarkRequest,
  OrphansPage,
  OrphansQuery,
} from './staff-findings.dto';
import { StaffFindingsService } from './staff-findings.service';

@ApiTags('Orders')
@Controller('staff/orphans')
export class StaffOrphansController {
  constructor(private readonly findings: StaffFindingsService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.list',
    summary: 'List orphans',
    description:
      'For support and accounting: proxies that the provider lists under our tags and that no order ' +
      'accounts for, newest first. `state` is `open`, `assigned` or `written-off`; without it, orphans in ' +
      'every state are listed.',
    response: { description: 'A page of orphans, newest first', type: OrphansPage },
  })
  list(@Query() query: OrphansQuery): Promise<OrphansPage> {
    return this.findings.listOrphans(query);
  }

  @Post(':orphan_id/assign')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.assign',
    on: 'orphan',
    summary: 'Assign an orphan',
    description:
      'For support, when the owner of the proxy is known: the user of the named purchase gets it free ' +
      'of charge. To charge for it, debit the balance as well. An assignment cannot be undone.',
    response: { description: 'The orphan as it is now', type: OrphanOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound(OrphanNotFound, OrderNotFound),
      409: ['Nothing was changed', OrphanAssigned, OrderNotAssignable, ProxyBelongsToAnother],
    },
  })
  assign(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() { order_id: orderId, reason }: AssignmentRequest,
  ): Promise<OrphanOut> {
    return this.findings.assignOrphan(audit, orphanId, orderId, reason);
  }

  @Post(':orphan_id/deliver')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.deliver',
    on: 'orphan',
    summary: 'Deliver orphans and charge for them',
    description:
      'For support, after the database was restored to an earlier moment: turns the proxies that ' +
      'were bought under a tag since then into a purchase of the user, at `price` for each. If ' +
      'the order that the tag names is lost, the purchase gets its number. The tag names only the ' +
      'first order of a batch: deliver the shares of the other users with `count`.',
    response: { description: 'The orphan as it is now', type: OrphanOut },
    errors: {
      400: ['The balance of the user is too low', InsufficientBalance],
      403: NOT_FOR_ONESELF,
      404: notFound(OrphanNotFound, UserNotFound),
      409: [
        'Nothing was changed',
        OrphanAssigned,
        TooFewOrphans,
        TaggedUserFirst,
        OrderNotAssignable,
        OrphansIncomplete,
        ProxyBelongsToAnother,
      ],
    },
  })
  deliver(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() delivery: DeliveryRequest,
  ): Promise<OrphanOut> {
    return this.findings.deliverOrphans(audit, orphanId, delivery);
  }

  @Post(':orphan_id/mark')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.mark',
    on: 'orphan',
    summary: 'Mark an orphan',
    description:
      'For accounting: `written-off` if the orphan has no customer and remains our cost, `open` to ' +
      'review it again.',
    response: { description: 'The orphan as it is now', type: OrphanOut },
    errors: { 404: notFound(OrphanNotFound), 409: ['Nothing was changed', OrphanAssigned] },
  })
  mark(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() { state, reason }: MarkRequest,
  ): Promise<OrphanOut> {
    return this.findings.markOrphan(audit, orphanId, state, reason);
  }
}
