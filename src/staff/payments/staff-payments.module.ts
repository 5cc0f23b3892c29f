import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments';
import { UsersModule } from '../../users';
import { StaffModule } from '../staff.module';
import { StaffPaymentsController } from './staff-payments.controller';
import { StaffPaymentsService } from './staff-payments.service';

/** Provides the staff API of payments. Only an application that accepts payments imports it. */
@Module({
  imports: [StaffModule, PaymentsModule, UsersModule],
  controllers: [StaffPaymentsController],
  providers: [StaffPaymentsService],
})
export class StaffPaymentsModule {}
