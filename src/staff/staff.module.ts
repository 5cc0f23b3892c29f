import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { UsersModule } from '../users';
import { LogController } from './log.controller';
import { StaffAction } from './staff-action.entity';
import { StaffLog } from './staff-log';
import { StaffRoutesCheck } from './staff-routes.check';
import { StaffTokensService } from './staff-tokens.service';
import { StaffUsersService } from './staff-users.service';
import { StaffTokensController } from './tokens.controller';
import { StaffUsersController } from './users.controller';

@Module({
  imports: [TypeOrmModule.forFeature([StaffAction]), DiscoveryModule, AuthModule, UsersModule],
  controllers: [StaffUsersController, StaffTokensController, LogController],
  providers: [StaffLog, StaffRoutesCheck, StaffTokensService, StaffUsersService],
  exports: [StaffLog, StaffTokensService, StaffUsersService],
})
export class StaffModule {}
