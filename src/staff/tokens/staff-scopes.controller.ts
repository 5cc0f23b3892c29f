import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ScopeCatalog, type ScopeOut } from '../../auth';
import { StaffRoute } from '../staff-route';
import { ListScopesDocs } from './staff-tokens.docs';

@ApiTags('Access and log')
@Controller('staff/scopes')
export class StaffScopesController {
  constructor(private readonly scopes: ScopeCatalog) {}

  @Get()
  @ListScopesDocs()
  @StaffRoute({ scope: 'staff:tokens', action: 'scopes.list' })
  list(): readonly ScopeOut[] {
    return this.scopes.list();
  }
}
