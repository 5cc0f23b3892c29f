import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS, type Access } from './access.decorators';
import { findRoutes } from './routes';
import type { ScopeOut } from './scope.dto';
import { ALL_SCOPES, ALL_STAFF_SCOPES, isStaffScope, whatIsGranted } from './scopes';

/** Lists which routes each scope opens, as the routes themselves say when the application starts. */
@Injectable()
export class ScopeCatalog implements OnModuleInit {
  private catalog: readonly ScopeOut[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const routes = findRoutes(this.discovery, this.scanner).map(({ method, path, handler, controller }) => ({
      route: `${method} ${path}`,
      access: this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]),
    }));
    this.catalog = [...ALL_SCOPES, ...ALL_STAFF_SCOPES].map((scope) => ({
      scope,
      grants: whatIsGranted(scope),
      for: isStaffScope(scope) ? 'staff' : 'customers',
      routes: routes
        .filter(({ access }) => access?.public === false && access.scope === scope)
        .map(({ route }) => route),
    }));
  }

  list(): readonly ScopeOut[] {
    return this.catalog;
  }
}
