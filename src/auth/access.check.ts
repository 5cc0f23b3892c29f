import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS, type Access } from './access.decorators';

/** Nest's mark of a route among the methods of a controller. */
const ROUTE_PATH = 'path';

/** Keeps the application from starting with a route of which nobody has said who may call it. */
@Injectable()
export class AccessCheck implements OnModuleInit {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const open = this.discovery.getControllers().flatMap(({ metatype }) => {
      if (!metatype) return [];
      const prototype = metatype.prototype as Record<string, (...args: unknown[]) => unknown>;
      return this.scanner
        .getAllMethodNames(prototype)
        .map((name) => ({ name, handler: prototype[name] }))
        .filter(({ handler }) => handler && Reflect.hasMetadata(ROUTE_PATH, handler))
        .filter(
          ({ handler }) => handler && !this.reflector.getAllAndOverride<Access>(ACCESS, [handler, metatype]),
        )
        .map(({ name }) => `${metatype.name}.${name}`);
    });
    if (open.length > 0) throw new Error(`neither @Scopes nor @Public: ${open.join(', ')}`);
  }
}
