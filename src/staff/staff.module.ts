import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { LedgerModule } from '../ledger';
import { ProviderModule } from '../provider';
import { UsersModule } from '../users';
import { StaffBalanceController } from './balance.controller';
import { LogController } from './log.controller';
import { StaffOrdersController } from './orders.controller';
import { StaffAction } from './staff-action.entity';
import { StaffBalanceService } from './staff-balance.service';
import { StaffLog } from './staff-log';
import { StaffOrdersService } from './staff-orders.service';
import { StaffRoutesCheck } from './staff-routes.check';
import { StaffTokensService } from './staff-tokens.service';
import { StaffUsersService } from './staff-users.service';
import { StaffTokensController } from './tokens.controller';
import { StaffUsersController } from './users.controller';

@Module({
  imports: [
    TypeOrmModule.forFeature([StaffAction]),
    DiscoveryModule,
    AuthModule,
    UsersModule,
    LedgerModule,
    ProviderModule,
  ],
  controllers: [
    StaffUsersController,
    StaffTokensController,
    StaffBalanceController,
    StaffOrdersController,
    LogController,
  ],
  providers: [
    StaffLog,
    StaffRoutesCheck,
    StaffBalanceService,
    StaffOrdersService,
    StaffTokensService,
    StaffUsersService,
  ],
  exports: [StaffLog, StaffBalanceService, StaffOrdersService, StaffTokensService, StaffUsersService],
})
export class StaffModule {}
