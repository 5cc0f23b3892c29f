import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth';
import { LogController } from './log.controller';
import { StaffAction } from './staff-action.entity';
import { StaffLog } from './staff-log';
import { StaffRoutesCheck } from './staff-routes.check';

@Module({
  imports: [TypeOrmModule.forFeature([StaffAction]), DiscoveryModule, AuthModule],
  controllers: [LogController],
  providers: [StaffLog, StaffRoutesCheck],
  exports: [StaffLog],
})
export class StaffModule {}
