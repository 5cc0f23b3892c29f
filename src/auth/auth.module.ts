import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { RequestInputGuard } from '../http';
import { AccessRecheck } from './access-recheck';
import { AccessAssertion } from './access.assertion';
import { AccessGuard } from './access.guard';
import { BearerStrategy } from './bearer.strategy';
import { TokensService } from './tokens.service';

@Module({
  imports: [DiscoveryModule],
  providers: [
    TokensService,
    BearerStrategy,
    AccessAssertion,
    AccessRecheck,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_GUARD, useClass: RequestInputGuard },
  ],
  exports: [AccessRecheck, TokensService],
})
export class AuthModule {}
