import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { RecoveryOut } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { EndRecoveryDocs, ReadRecoveryDocs } from './staff-recovery.docs';
import { StaffRecoveryService } from './staff-recovery.service';

@ApiTags('System')
@Controller('staff/recovery')
export class StaffRecoveryController {
  constructor(private readonly recovery: StaffRecoveryService) {}

  @Get()
  @ReadRecoveryDocs()
  @StaffRoute({ scope: 'staff:system', action: 'recovery.read' })
  read(): Promise<RecoveryOut> {
    return this.recovery.show();
  }

  @Post('end')
  @HttpCode(200)
  @EndRecoveryDocs()
  @StaffRoute({ scope: 'staff:system', action: 'recovery.end' })
  end(@CurrentAudit() audit: AuditContext, @Body() { reason }: ReasonRequest): Promise<RecoveryOut> {
    return this.recovery.end(audit, reason);
  }
}
