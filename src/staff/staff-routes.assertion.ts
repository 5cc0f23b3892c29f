import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { findRoutes, isStaffScope } from '../auth';
import { AUDITED_ROUTE } from './audit-log/audit-log.interceptor';

/**
 * Aborts startup if a staff route is open to customers or not audited, or if any other route needs a staff
 * scope.
 */
@Injectable()
export class StaffRoutesAssertion implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const wrong = findRoutes(this.discovery).filter(({ path, handler, access }) => {
      const needsStaffScope = access?.public === false && isStaffScope(access.scope ?? '');
      const isUnderStaff = /^\/staff(?:\/|$)/i.test(path);
      return isUnderStaff
        ? !needsStaffScope || !Reflect.hasMetadata(AUDITED_ROUTE, handler)
        : needsStaffScope;
    });
    if (wrong.length > 0) {
      const names = wrong.map(({ name }) => name).join(', ');
      throw new Error(`routes under /staff without @StaffRoute, or with it elsewhere: ${names}`);
    }
  }
}
