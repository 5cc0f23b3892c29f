import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { findRoutes } from './routes';
import type { ScopeOut } from './scope.dto';
import {
  ALL_PAYMENT_SCOPES,
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  isScope,
  isStaffScope,
  whatIsGranted,
} from './scopes';

/** Lists the routes that each scope opens, collected from the routes at the start. */
@Injectable()
export class ScopeCatalog implements OnModuleInit {
  private catalog: readonly ScopeOut[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const routes = findRoutes(this.discovery);
    this.catalog = [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES, ...ALL_STAFF_SCOPES].map((scope) => ({
      scope,
      grants: whatIsGranted(scope),
      for: isStaffScope(scope) ? 'staff' : 'customers',
      routes: routes
        .filter(({ access }) => access?.public === false && access.scope === scope)
        .map(({ method, path }) => `${method} ${path}`),
    }));
  }

  list(): readonly ScopeOut[] {
    return this.catalog.filter(({ scope }) => isScope(scope));
  }
}
