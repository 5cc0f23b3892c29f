import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { ProxyDeletions } from './proxy-deletions';
import { ProxyRefundRecords } from './proxy-refund-records';
import { ProxyRefundsController } from './proxy-refunds.controller';
import { ProxyRefundsJob } from './proxy-refunds.job';
import { ProxyRefundsService } from './proxy-refunds.service';
import { RefundRules } from './refund-rules';
import { StaffRefunds } from './staff-refunds';

@Module({
  imports: [AuthModule, OrdersModule, ProviderModule, ProxiesModule],
  controllers: [ProxyRefundsController],
  providers: [
    ProxyDeletions,
    ProxyRefundRecords,
    RefundRules,
    ProxyRefundsJob,
    ProxyRefundsService,
    StaffRefunds,
  ],
  exports: [RefundRules, ProxyRefundsService, StaffRefunds],
})
export class ProxyRefundsModule {}
