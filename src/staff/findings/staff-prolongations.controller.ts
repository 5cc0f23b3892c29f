import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import { FoundProlongationDecided, FoundProlongationNotFound, FoundProlongationOut } from '../../inventory';
import { InsufficientBalance } from '../../ledger';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, NOT_FOR_ONESELF, notFound, StaffRoute } from '../staff-route';
import { ChargeRequest, FoundProlongationsPage, FoundProlongationsQuery } from './staff-findings.dto';
import { StaffFindingsService } from './staff-findings.service';

@ApiTags('Orders')
@Controller('staff/found-prolongations')
export class StaffProlongationsController {
  constructor(private readonly findings: StaffFindingsService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.list',
    summary: 'List found prolongations',
    description:
      'For support and accounting, after the database was restored to an earlier moment: ' +
      'prolongations that the provider shows and that no order accounts for, newest first. The ' +
      'proxies already have their new end.',
    response: { description: 'A page of found prolongations, newest first', type: FoundProlongationsPage },
  })
  list(@Query() query: FoundProlongationsQuery): Promise<FoundProlongationsPage> {
    return this.findings.listProlongations(query);
  }

  @Post(':prolongation_id/charge')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.charge',
    on: 'found-prolongation',
    summary: 'Charge a found prolongation',
    description:
      'For support: turns the prolongation into an order of the user, at `price`. Several ' +
      'prolongations of one proxy are found as one: with the `period` of the first, only the ' +
      'first is charged, and the rest stays open.',
    response: { description: 'The found prolongation as it is now', type: FoundProlongationOut },
    errors: {
      400: ['The balance of the user is too low', InsufficientBalance],
      403: NOT_FOR_ONESELF,
      404: notFound(FoundProlongationNotFound),
      409: ['Nothing was changed', FoundProlongationDecided],
    },
  })
  charge(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() charge: ChargeRequest,
  ): Promise<FoundProlongationOut> {
    return this.findings.chargeProlongation(audit, id, charge);
  }

  @Post(':prolongation_id/write-off')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'found-prolongations.write-off',
    on: 'found-prolongation',
    summary: 'Write off a found prolongation',
    description: 'For accounting: the user keeps the prolongation, and it stays our cost.',
    response: { description: 'The found prolongation as it is now', type: FoundProlongationOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound(FoundProlongationNotFound),
      409: ['Nothing was changed', FoundProlongationDecided],
    },
  })
  writeOff(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<FoundProlongationOut> {
    return this.findings.writeOffProlongation(audit, id, reason);
  }
}
