import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { RequestInputGuard } from '../http';
import { AccessRecheck } from './access-recheck';
import { AccessCheck } from './access.check';
import { AccessGuard } from './access.guard';
import { BearerStrategy } from './bearer.strategy';
import { TokensService } from './tokens.service';

@Module({
  imports: [DiscoveryModule],
  providers: [
    TokensService,
    BearerStrategy,
    AccessCheck,
    AccessRecheck,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_GUARD, useClass: RequestInputGuard },
  ],
  exports: [AccessRecheck, TokensService],
})
export class AuthModule {}
