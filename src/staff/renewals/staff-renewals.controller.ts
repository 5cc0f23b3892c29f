import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import {
  ListRenewalsDocs,
  PauseAllRenewalsDocs,
  PauseRenewalsDocs,
  ReadRenewalsDocs,
} from './staff-renewals.docs';
import {
  type AllRenewalsOut,
  PauseRequest,
  type RenewalsOfUserOut,
  type RenewalsPage,
  RenewalsQuery,
} from './staff-renewals.dto';
import { StaffRenewalsService } from './staff-renewals.service';

@ApiTags('Renewals')
@Controller('staff')
export class StaffRenewalsController {
  constructor(private readonly renewals: StaffRenewalsService) {}

  @Get('renewals')
  @ListRenewalsDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'renewals.list' })
  list(@Query() query: RenewalsQuery): Promise<RenewalsPage> {
    const { user_id: userId, state, reason, due } = query;
    return this.renewals.list({ userId, state, reason, due }, query);
  }

  @Put('renewals')
  @PauseAllRenewalsDocs()
  @StaffRoute({ scope: 'staff:system', action: 'renewals.pause-all' })
  pauseAll(
    @CurrentAudit() audit: AuditContext,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<AllRenewalsOut> {
    return this.renewals.pauseAll(audit, paused, reason);
  }

  @Get('users/:user_id/renewals')
  @ReadRenewalsDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'renewals.read', on: 'user' })
  read(@IdParam('user_id') userId: number): Promise<RenewalsOfUserOut> {
    return this.renewals.ofUser(userId);
  }

  @Put('users/:user_id/renewals')
  @PauseRenewalsDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'renewals.pause', on: 'user' })
  pause(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<RenewalsOfUserOut> {
    return this.renewals.pause(audit, userId, paused, reason);
  }
}
