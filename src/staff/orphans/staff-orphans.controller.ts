import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import type { OrphanOut } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { AssignOrphanDocs, DeliverOrphanDocs, ListOrphansDocs, MarkOrphanDocs } from './staff-orphans.docs';
import {
  AssignmentRequest,
  DeliveryRequest,
  MarkRequest,
  type OrphansPage,
  OrphansQuery,
} from './staff-orphans.dto';
import { StaffOrphansService } from './staff-orphans.service';

@ApiTags('Orders')
@Controller('staff/orphans')
export class StaffOrphansController {
  constructor(private readonly orphans: StaffOrphansService) {}

  @Get()
  @ListOrphansDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orphans.list' })
  list(@Query() query: OrphansQuery): Promise<OrphansPage> {
    return this.orphans.list(query, query);
  }

  @Post(':orphan_id/assign')
  @HttpCode(200)
  @AssignOrphanDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orphans.assign', on: 'orphan' })
  assign(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() { order_id: orderId, reason }: AssignmentRequest,
  ): Promise<OrphanOut> {
    return this.orphans.assign(audit, orphanId, orderId, reason);
  }

  @Post(':orphan_id/deliver')
  @HttpCode(200)
  @DeliverOrphanDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orphans.deliver', on: 'orphan' })
  deliver(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() { user_id: userId, ...delivery }: DeliveryRequest,
  ): Promise<OrphanOut> {
    return this.orphans.deliver(audit, orphanId, { userId, ...delivery });
  }

  @Post(':orphan_id/mark')
  @HttpCode(200)
  @MarkOrphanDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'orphans.mark', on: 'orphan' })
  mark(
    @CurrentAudit() audit: AuditContext,
    @IdParam('orphan_id') orphanId: number,
    @Body() { state, reason }: MarkRequest,
  ): Promise<OrphanOut> {
    return this.orphans.mark(audit, orphanId, state, reason);
  }
}
