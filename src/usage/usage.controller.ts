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
    summary: 'Show spending and costs',
    description:
      "Spending today and this month (UTC), money held, what is left of the token's daily limit, the " +
      'rentals that end soon, and the cost of renewing them. Spending is the amount captured for ' +
      'delivered orders less refunds, each at the time of its entry in `GET /ledger`; it is negative ' +
      "if more was refunded than captured. A renewal is a prolongation for the period of the proxy's " +
      "last order, at today's price as last read from the catalog, so the price charged may differ. " +
      `\`balance_lasts_until\` looks ${BALANCE_DAYS} days ahead, assuming that every rental is ` +
      'renewed; `GET /renewals/forecast` follows your rules.',
    response: UsageOut,
  })
  getUsage(@CurrentCaller() caller: Caller): Promise<UsageOut> {
    return this.usage.read(caller);
  }
}
