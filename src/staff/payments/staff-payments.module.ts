import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments';
import { UsersModule } from '../../users';
import { StaffModule } from '../staff.module';
import { StaffPaymentsController } from './staff-payments.controller';
import { StaffPaymentsService } from './staff-payments.service';

/** Staff's side of payments: only in an application that takes them. */
@Module({
  imports: [StaffModule, PaymentsModule, UsersModule],
  controllers: [StaffPaymentsController],
  providers: [StaffPaymentsService],
})
export class StaffPaymentsModule {}
