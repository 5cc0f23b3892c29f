import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { missing } from '../../http';
import { type MissingProxies, MissingProxiesChanged } from '../../inventory';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { MissingProxiesOut, WithdrawalRequest } from './staff-missing.dto';
import { StaffMissingService } from './staff-missing.service';

@ApiTags('System')
@Controller('staff/missing-proxies')
export class StaffMissingController {
  constructor(private readonly missingProxies: StaffMissingService) {}

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
  read(): Promise<MissingProxies> {
    return this.missingProxies.count();
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
  ): Promise<MissingProxies> {
    return this.missingProxies.withdraw(audit, proxies, reason);
  }
}
