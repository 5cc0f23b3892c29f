import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import type { FoundProlongationOut } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, StaffRoute } from '../staff-route';
import {
  ChargeProlongationDocs,
  ListProlongationsDocs,
  WriteOffProlongationDocs,
} from './staff-prolongations.docs';
import {
  ChargeRequest,
  type FoundProlongationsPage,
  FoundProlongationsQuery,
} from './staff-prolongations.dto';
import { StaffProlongationsService } from './staff-prolongations.service';

@ApiTags('Orders')
@Controller('staff/found-prolongations')
export class StaffProlongationsController {
  constructor(private readonly prolongations: StaffProlongationsService) {}

  @Get()
  @ListProlongationsDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'found-prolongations.list' })
  list(@Query() query: FoundProlongationsQuery): Promise<FoundProlongationsPage> {
    return this.prolongations.list(query.state, query);
  }

  @Post(':prolongation_id/charge')
  @HttpCode(200)
  @ChargeProlongationDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'found-prolongations.charge', on: 'found-prolongation' })
  charge(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() { reason, ...terms }: ChargeRequest,
  ): Promise<FoundProlongationOut> {
    return this.prolongations.charge(audit, id, terms, reason);
  }

  @Post(':prolongation_id/write-off')
  @HttpCode(200)
  @WriteOffProlongationDocs()
  @StaffRoute({ scope: 'staff:orders', action: 'found-prolongations.write-off', on: 'found-prolongation' })
  writeOff(
    @CurrentAudit() audit: AuditContext,
    @IdParam('prolongation_id') id: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<FoundProlongationOut> {
    return this.prolongations.writeOff(audit, id, reason);
  }
}
