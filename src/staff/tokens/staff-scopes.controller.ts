import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ScopeCatalog, ScopeOut } from '../../auth';
import { StaffRoute } from '../staff-route';

@ApiTags('Access and log')
@Controller('staff/scopes')
export class StaffScopesController {
  constructor(private readonly scopes: ScopeCatalog) {}

  @Get()
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'scopes.list',
    summary: 'List the scopes',
    description: 'For issuers of tokens: every scope with its meaning and the routes that require it.',
    response: { description: 'All scopes', type: [ScopeOut] },
  })
  list(): readonly ScopeOut[] {
    return this.scopes.list();
  }
}
