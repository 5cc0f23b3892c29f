import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { PricePreviewModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { PricingModule } from '../pricing';
import { SalesModule } from '../sales';
import { StatusModule } from '../status';
import { UsersModule } from '../users';
import { StaffBalanceController } from './balance.controller';
import { LogController } from './log.controller';
import { StaffPricesController } from './prices.controller';
import { StaffAction } from './staff-action.entity';
import { StaffBalanceService } from './staff-balance.service';
import { StaffLog } from './staff-log';
import { StaffPricesService } from './staff-prices.service';
import { StaffRoutesCheck } from './staff-routes.check';
import { StaffTokensService } from './staff-tokens.service';
import { StaffUsersService } from './staff-users.service';
import { SystemController } from './system.controller';
import { StaffTokensController } from './tokens.controller';
import { StaffUsersController } from './users.controller';

@Module({
  imports: [
    TypeOrmModule.forFeature([StaffAction]),
    DiscoveryModule,
    AuthModule,
    UsersModule,
    LedgerModule,
    PricingModule,
    PricePreviewModule,
    StatusModule,
    SalesModule,
  ],
  controllers: [
    StaffUsersController,
    StaffTokensController,
    StaffBalanceController,
    StaffPricesController,
    SystemController,
    LogController,
  ],
  providers: [
    StaffLog,
    StaffRoutesCheck,
    StaffBalanceService,
    StaffPricesService,
    StaffTokensService,
    StaffUsersService,
  ],
  exports: [StaffLog, StaffBalanceService, StaffPricesService, StaffTokensService, StaffUsersService],
})
export class StaffModule {}
