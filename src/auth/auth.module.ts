import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessCheck } from './access.check';
import { AccessGuard } from './access.guard';
import { ApiToken } from './api-token.entity';
import { ScopeCatalogue } from './scope-catalogue';
import { BearerStrategy } from './bearer.strategy';
import { TokensService } from './tokens.service';

@Module({
  imports: [TypeOrmModule.forFeature([ApiToken]), PassportModule, DiscoveryModule],
  providers: [
    TokensService,
    BearerStrategy,
    AccessCheck,
    ScopeCatalogue,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [TokensService, ScopeCatalogue],
})
export class AuthModule {}
