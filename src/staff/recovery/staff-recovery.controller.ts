import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NoRecovery, RecoveryIsNoPrecaution, RecoveryNotOver, RecoveryOut } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { EndRecoveryRequest } from './end-recovery.request';
import { StaffRecoveryService } from './staff-recovery.service';

@ApiTags('System')
@Controller('staff/recovery')
export class StaffRecoveryController {
  constructor(private readonly recovery: StaffRecoveryService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:system',
    action: 'recovery.read',
    summary: 'Show the recovery after a restore',
    description:
      'For operators, after the database was restored to an earlier moment: whether orders are shut, ' +
      'and the remaining work until they can be opened. `cli recovery begin` begins a recovery, and so ' +
      'does a start on another PostgreSQL server or timeline than the last one.',
    response: { description: 'The recovery, or that there is none', type: RecoveryOut },
  })
  read(): Promise<RecoveryOut> {
    return this.recovery.show();
  }

  @Post('end')
  @StaffRoute({
    scope: 'staff:system',
    action: 'recovery.end',
    summary: 'End the recovery and open orders',
    description:
      'For operators, when all sales after the restored moment are found and decided. It is ' +
      'refused until then, except for a precaution when nothing was lost.',
    response: { description: 'Orders are open', type: RecoveryOut },
    errors: {
      409: [
        'Nothing was changed',
        NoRecovery,
        RecoveryIsNoPrecaution,
        new RecoveryNotOver(['no sweep has been complete yet', '2 orphans are undecided']),
      ],
    },
  })
  end(@CurrentAudit() audit: AuditContext, @Body() request: EndRecoveryRequest): Promise<RecoveryOut> {
    return this.recovery.end(audit, request);
  }
}
