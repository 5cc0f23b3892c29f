import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { MissingProxiesChanged, MissingProxiesOut } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { WithdrawalRequest } from './staff-findings.dto';
import { StaffFindingsService } from './staff-findings.service';

@ApiTags('System')
@Controller('staff/missing-proxies')
export class StaffMissingController {
  constructor(private readonly findings: StaffFindingsService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:system',
    action: 'missing.read',
    summary: 'Show how many proxies are missing',
    description:
      'For operators: rented proxies that were missing from two listings in a row, but too many ' +
      'at once for a sweep to believe. They stay active until they are withdrawn here, or are few ' +
      'enough. A proxy that the provider lists again is no longer missing.',
    response: { description: 'The effect of a withdrawal', type: MissingProxiesOut },
  })
  read(): Promise<MissingProxiesOut> {
    return this.findings.countMissing();
  }

  @Post('withdraw')
  @StaffRoute({
    scope: 'staff:system',
    action: 'missing.withdraw',
    summary: 'Withdraw the proxies that are missing',
    description:
      'For operators, when the provider no longer has these proxies: marks them as inactive until it ' +
      'lists them again. Nothing is refunded. `proxies` is the number that was shown; if the number of ' +
      'missing proxies has changed, nothing is changed.',
    response: { description: 'The withdrawn proxies', type: MissingProxiesOut },
    errors: { 409: ['Nothing was changed', MissingProxiesChanged] },
  })
  withdraw(
    @CurrentAudit() audit: AuditContext,
    @Body() { proxies, reason }: WithdrawalRequest,
  ): Promise<MissingProxiesOut> {
    return this.findings.withdrawMissing(audit, proxies, reason);
  }
}
