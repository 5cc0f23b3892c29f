import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { LedgerModule } from '../ledger';
import { UsersModule } from '../users';
import { StaffBalanceController } from './balance.controller';
import { LogController } from './log.controller';
import { StaffAction } from './staff-action.entity';
import { StaffBalanceService } from './staff-balance.service';
import { StaffLog } from './staff-log';
import { StaffRoutesCheck } from './staff-routes.check';
import { StaffTokensService } from './staff-tokens.service';
import { StaffUsersService } from './staff-users.service';
import { StaffTokensController } from './tokens.controller';
import { StaffUsersController } from './users.controller';

@Module({
  imports: [TypeOrmModule.forFeature([StaffAction]), DiscoveryModule, AuthModule, UsersModule, LedgerModule],
  controllers: [StaffUsersController, StaffTokensController, StaffBalanceController, LogController],
  providers: [StaffLog, StaffRoutesCheck, StaffBalanceService, StaffTokensService, StaffUsersService],
  exports: [StaffLog, StaffBalanceService, StaffTokensService, StaffUsersService],
})
export class StaffModule {}
