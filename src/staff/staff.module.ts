import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { LedgerModule } from '../ledger';
import { SettlementModule } from '../orders';
import { UsersModule } from '../users';
import { StaffBalanceController } from './balance.controller';
import { LogController } from './log.controller';
import { StaffAction } from './staff-action.entity';
import { StaffBalanceService } from './staff-balance.service';
import { StaffDecisionsController } from './decisions.controller';
import { StaffDecisionsService } from './staff-decisions.service';
import { StaffPostings } from './staff-postings';
import { StaffLog } from './staff-log';
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
    SettlementModule,
  ],
  controllers: [
    StaffDecisionsController,
    StaffUsersController,
    StaffTokensController,
    StaffBalanceController,
    LogController,
  ],
  providers: [
    StaffLog,
    StaffPostings,
    StaffDecisionsService,
    StaffRoutesCheck,
    StaffBalanceService,
    StaffTokensService,
    StaffUsersService,
  ],
  exports: [StaffLog, StaffDecisionsService, StaffBalanceService, StaffTokensService, StaffUsersService],
})
export class StaffModule {}
