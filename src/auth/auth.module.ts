import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { RequestInputGuard } from '../http';
import { AccessRecheck } from './access-recheck';
import { AccessCheck } from './access.check';
import { AccessGuard } from './access.guard';
import { BearerStrategy } from './bearer.strategy';
import { ScopeCatalog } from './scope-catalog';
import { TokensService } from './tokens.service';

@Module({
  imports: [DiscoveryModule],
  providers: [
    TokensService,
    BearerStrategy,
    AccessCheck,
    AccessRecheck,
    ScopeCatalog,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_GUARD, useClass: RequestInputGuard },
  ],
  exports: [AccessRecheck, TokensService, ScopeCatalog],
})
export class AuthModule {}
