import { Module } from '@nestjs/common';
import { PaymentsModule } from '../../payments';
import { UsersModule } from '../../users';
import { StaffModule } from '../staff.module';
import { StaffPaymentsController } from './staff-payments.controller';
import { StaffPaymentsService } from './staff-payments.service';

/** The staff API of payments, imported only by an application that accepts them. */
@Module({
  imports: [StaffModule, PaymentsModule, UsersModule],
  controllers: [StaffPaymentsController],
  providers: [StaffPaymentsService],
})
export class StaffPaymentsModule {}
