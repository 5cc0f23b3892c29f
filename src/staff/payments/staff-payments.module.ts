import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments';
import { UsersModule } from '../../users';
import { StaffModule } from '../staff.module';
import { StaffPaymentsController } from './staff-payments.controller';

/** Imported only if the application accepts payments. */
@Module({
  imports: [StaffModule, PaymentsModule, UsersModule],
  controllers: [StaffPaymentsController],
})
export class StaffPaymentsModule {}
