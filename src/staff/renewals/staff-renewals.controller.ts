import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, notFound, StaffRoute } from '../staff-route';
import {
  AllRenewalsOut,
  PauseRequest,
  RenewalsOfUserOut,
  RenewalsPage,
  RenewalsQuery,
} from './staff-renewals.dto';
import { StaffRenewalsService } from './staff-renewals.service';

@ApiTags('Renewals')
@Controller('staff')
export class StaffRenewalsController {
  constructor(private readonly renewals: StaffRenewalsService) {}

  @Get('renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.list',
    summary: 'List renewals',
    description:
      'For support and operators: renewals and failures with their reason, newest first. `due=true` ' +
      'selects those whose time has come and that wait for the service or the provider. A `skipped` ' +
      'renewal is retried until an hour before the rental ends.',
    response: { description: 'A page of renewals, newest first', type: RenewalsPage },
  })
  list(@Query() query: RenewalsQuery): Promise<RenewalsPage> {
    return this.renewals.list(query);
  }

  @Put('renewals')
  @StaffRoute({
    scope: 'staff:system',
    action: 'renewals.pause-all',
    summary: 'Pause or resume all renewals',
    description:
      'For operators, when renewals cause harm: from now on no renewal is ordered. Due renewals ' +
      'are skipped with the reason `paused`, which customers see, and are ordered once renewals ' +
      'continue, unless the rental then ends within an hour. Orders that were placed before are ' +
      'executed.',
    response: { description: 'Whether they are paused', type: AllRenewalsOut },
  })
  pauseAll(
    @CurrentAudit() audit: AuditContext,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<AllRenewalsOut> {
    return this.renewals.pauseAll(audit, paused, reason);
  }

  @Get('users/:user_id/renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.read',
    on: 'user',
    summary: 'Show the renewals of a user',
    description:
      'For support: the enabled rules of the user, the budget and its use in this month (UTC), and ' +
      'whether staff have paused the renewals of the user.',
    response: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound(UserNotFound) },
  })
  read(@IdParam('user_id') userId: number): Promise<RenewalsOfUserOut> {
    return this.renewals.ofUser(userId);
  }

  @Put('users/:user_id/renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.pause',
    on: 'user',
    summary: "Pause or resume a user's renewals",
    description:
      'For support, when a customer has doubts about renewals, or money is disputed. Rules stay ' +
      'as they are. Due renewals are skipped with the reason `paused`, which the customer sees, ' +
      'and are ordered once renewals continue, unless the rental then ends within an hour.',
    response: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound(UserNotFound) },
  })
  pause(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<RenewalsOfUserOut> {
    return this.renewals.pause(audit, userId, paused, reason);
  }
}
