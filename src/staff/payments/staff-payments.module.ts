import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments';
import { UsersModule } from '../../users';
import { StaffModule } from '../staff.module';
import { StaffPaymentsController } from './staff-payments.controller';

/** Provides the staff API of payments. Only an application that accepts payments imports it. */
@Module({
  imports: [StaffModule, PaymentsModule, UsersModule],
  controllers: [StaffPaymentsController],
})
export class StaffPaymentsModule {}
