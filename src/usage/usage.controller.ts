import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, Route } from '../auth';
import { BALANCE_DAYS } from '../renewals';
import { UsageOut } from './usage.dto';
import { UsageService } from './usage.service';

@ApiTags('Profile')
@Controller()
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Get('usage')
  @Route({
    scope: 'profile:read',
    summary: 'Usage',
    description:
      'What was spent today and this month (UTC), what is held, what is left of the daily limit of the ' +
      'token, when rentals end, and what it costs to renew them. What was spent is what was captured for ' +
      'delivered orders, less what was refunded, each at the time of its entry in `GET /ledger`; it is ' +
      'negative when more was refunded than captured. A renewal is a prolongation for as many days as ' +
      'the last order of the proxy, at the price of today, as the catalog was last read: the price that ' +
      `is charged then may differ. \`balance_lasts_until\` looks ${BALANCE_DAYS} days ahead, as if every ` +
      'rental were renewed; `GET /renewals/forecast` tells what your rules will renew.',
    response: UsageOut,
  })
  getUsage(@CurrentCaller() caller: Caller): Promise<UsageOut> {
    return this.usage.read(caller);
  }
}
