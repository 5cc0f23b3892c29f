import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { PricePreviewModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { OrderRecordsModule } from '../orders';
import { PricingModule } from '../pricing';
import { ProviderModule } from '../provider';
import { SalesModule } from '../sales';
import { StatusModule } from '../status';
import { UsersModule } from '../users';
import { StaffBalanceController } from './balance.controller';
import { StaffDecisionsController } from './decisions.controller';
import { LogController } from './log.controller';
import { StaffOrdersController } from './orders.controller';
import { StaffPricesController } from './prices.controller';
import { StaffAction } from './staff-action.entity';
import { StaffBalanceService } from './staff-balance.service';
import { StaffDecisionsService } from './staff-decisions.service';
import { StaffLog } from './staff-log';
import { StaffOrdersService } from './staff-orders.service';
import { StaffPostings } from './staff-postings';
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
    OrderRecordsModule,
    PricingModule,
    PricePreviewModule,
    StatusModule,
    SalesModule,
    ProviderModule,
  ],
  controllers: [
    StaffUsersController,
    StaffTokensController,
    StaffBalanceController,
    StaffDecisionsController,
    StaffPricesController,
    SystemController,
    StaffOrdersController,
    LogController,
  ],
  providers: [
    StaffLog,
    StaffPostings,
    StaffRoutesCheck,
    StaffBalanceService,
    StaffDecisionsService,
    StaffOrdersService,
    StaffPricesService,
    StaffTokensService,
    StaffUsersService,
  ],
  exports: [
    StaffLog,
    StaffBalanceService,
    StaffDecisionsService,
    StaffOrdersService,
    StaffPricesService,
    StaffTokensService,
    StaffUsersService,
  ],
})
export class StaffModule {}
