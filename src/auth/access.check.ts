import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS, type Access } from './access.decorators';
import { findRoutes } from './routes';

/** Keeps the application from starting while a route has neither `@Scopes` nor `@Public`. */
@Injectable()
export class AccessCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const open = findRoutes(this.discovery, this.scanner).filter(
      ({ handler, controller }) => !this.reflector.getAllAndOverride<Access>(ACCESS, [handler, controller]),
    );
    if (open.length > 0) {
      throw new Error(`neither @Scopes nor @Public: ${open.map(({ name }) => name).join(', ')}`);
    }
  }
}
