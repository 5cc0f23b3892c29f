import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { Deletions } from './deletions';
import { RefundRecords } from './refund-records';
import { RefundRules } from './refund-rules';
import { RefundsController } from './refunds.controller';
import { RefundsJob } from './refunds.job';
import { RefundsService } from './refunds.service';
import { StaffRefunds } from './staff-refunds';

/** Refunds of proxies that do not work. */
@Module({
  imports: [AuthModule, OrdersModule, ProviderModule, ProxiesModule],
  controllers: [RefundsController],
  providers: [Deletions, RefundRecords, RefundRules, RefundsJob, RefundsService, StaffRefunds],
  exports: [RefundRules, RefundsService, StaffRefunds],
})
export class RefundsModule {}
