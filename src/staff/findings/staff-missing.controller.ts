import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { missing } from '../../http';
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
      'For whoever keeps the service running: rented proxies that were missing from two listings in a ' +
      'row and are too many to be believed. They are shown as active until they are withdrawn here, or ' +
      'are few enough for a sweep to do it. None is missing any more once the provider lists it again.',
    response: { description: 'What a withdrawal would change', type: MissingProxiesOut },
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
      'For whoever keeps the service running, when the provider really no longer has them: they are shown ' +
      'as inactive until it lists them again. Nothing is refunded. `proxies` is the number that was shown; ' +
      'if another number is missing by now, nothing is changed.',
    response: { description: 'What was withdrawn', type: MissingProxiesOut },
    errors: { 409: ['Nothing was changed', MissingProxiesChanged] },
    invalid: missing('body', 'reason'),
  })
  withdraw(
    @CurrentAudit() audit: AuditContext,
    @Body() { proxies, reason }: WithdrawalRequest,
  ): Promise<MissingProxiesOut> {
    return this.findings.withdrawMissing(audit, proxies, reason);
  }
}
