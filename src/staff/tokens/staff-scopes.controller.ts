import { Controller, Get } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ApiTags } from '@nestjs/swagger';
import { allowsScope, findRoutes, isPaymentScope, isStaffScope, type Scope, whatIsGranted } from '../../auth';
import { StaffRoute } from '../staff-route';
import { ScopeOut } from './scope.dto';
import { EVERY_SCOPE } from './staff-tokens.dto';

@ApiTags('Access and log')
@Controller('staff/scopes')
export class StaffScopesController {
  constructor(private readonly discovery: DiscoveryService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'scopes.list',
    summary: 'List the scopes',
    description: 'For issuers of tokens: every scope with its meaning and the routes that it allows.',
    response: { description: 'All scopes', type: [ScopeOut] },
  })
  list(): ScopeOut[] {
    const routes = findRoutes(this.discovery);
    const requiring = (scope: Scope): string[] =>
      routes
        .filter(
          ({ access, method }) =>
            access?.public === false &&
            access.scope !== null &&
            allowsScope([scope], access.scope, method === 'GET'),
        )
        .map(({ method, path }) => `${method} ${path}`);
    // Omit payment scopes if payments are off, because no token may contain them.
    return EVERY_SCOPE.map((scope): ScopeOut => ({
      scope,
      grants: whatIsGranted(scope),
      for: isStaffScope(scope) ? 'staff' : 'customers',
      routes: requiring(scope),
    })).filter(({ scope, routes: required }) => !isPaymentScope(scope) || required.length > 0);
  }
}
