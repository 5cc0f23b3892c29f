import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS, type Access, findRoutes, isStaffScope } from '../auth';
import { STAFF_ACTION } from './staff-action';

/** Keeps the application from starting with a route of staff that the log would not know of, or that a customer could call. */
@Injectable()
export class StaffRoutesCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const wrong = findRoutes(this.discovery, this.scanner).filter(({ path, handler, controller }) => {
      const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]);
      const needsStaff = access?.public === false && isStaffScope(access.scope);
      const isStaffs = /^\/staff(?:\/|$)/i.test(path);
      return isStaffs ? !needsStaff || !Reflect.hasMetadata(STAFF_ACTION, handler) : needsStaff;
    });
    if (wrong.length > 0) {
      throw new Error(
        `under /staff without @StaffRoute, or the other way round: ${wrong.map(({ name }) => name).join(', ')}`,
      );
    }
  }
}
