import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { findRoutes } from './routes';

/** Aborts startup if a route declares no access, or a public route does not limit its body size. */
@Injectable()
export class AccessAssertion implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const unmarked: string[] = [];
    const unbounded: string[] = [];
    for (const { access, method, name } of findRoutes(this.discovery)) {
      if (!access) unmarked.push(name);
      else if (access.public && !access.takesBody && method !== 'GET') unbounded.push(name);
    }
    if (unmarked.length > 0) throw new Error(`neither @Scopes nor @Public: ${unmarked.join(', ')}`);
    if (unbounded.length > 0) throw new Error(`@Public without maxBodyBytes: ${unbounded.join(', ')}`);
  }
}
