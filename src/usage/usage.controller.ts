import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, Scopes } from '../auth';
import { UsageDocs } from './usage.docs';
import type { UsageOut } from './usage.dto';
import { UsageService } from './usage.service';

@ApiTags('Profile')
@Controller()
export class UsageController {
  constructor(private readonly usage: UsageService) {}

  @Get('usage')
  @Scopes('profile:read')
  @UsageDocs()
  getUsage(@CurrentCaller() caller: Caller): Promise<UsageOut> {
    return this.usage.read(caller);
  }
}
