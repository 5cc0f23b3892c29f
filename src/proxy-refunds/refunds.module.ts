import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { Deletions } from './deletions';
import { ProxyRefundRecords } from './refund-records';
import { RefundRules } from './refund-rules';
import { RefundsController } from './refunds.controller';
import { ProxyRefundsJob } from './refunds.job';
import { ProxyRefundsService } from './refunds.service';
import { StaffRefunds } from './staff-refunds';

/** Refunds proxies that do not work. */
@Module({
  imports: [AuthModule, OrdersModule, ProviderModule, ProxiesModule],
  controllers: [RefundsController],
  providers: [Deletions, ProxyRefundRecords, RefundRules, ProxyRefundsJob, ProxyRefundsService, StaffRefunds],
  exports: [RefundRules, ProxyRefundsService, StaffRefunds],
})
export class ProxyRefundsModule {}
