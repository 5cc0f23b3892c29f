import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { MissingProxies } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { ReadMissingDocs, WithdrawMissingDocs } from './staff-missing.docs';
import { WithdrawalRequest } from './staff-missing.dto';
import { StaffMissingService } from './staff-missing.service';

@ApiTags('System')
@Controller('staff/missing-proxies')
export class StaffMissingController {
  constructor(private readonly missing: StaffMissingService) {}

  @Get()
  @ReadMissingDocs()
  @StaffRoute({ scope: 'staff:system', action: 'missing.read' })
  read(): Promise<MissingProxies> {
    return this.missing.count();
  }

  @Post('withdraw')
  @HttpCode(200)
  @WithdrawMissingDocs()
  @StaffRoute({ scope: 'staff:system', action: 'missing.withdraw' })
  withdraw(
    @CurrentAudit() audit: AuditContext,
    @Body() { proxies, reason }: WithdrawalRequest,
  ): Promise<MissingProxies> {
    return this.missing.withdraw(audit, proxies, reason);
  }
}
