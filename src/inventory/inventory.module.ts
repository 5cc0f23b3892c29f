import { Module } from '@nestjs/common';
import { AppConfig } from '../config';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { Retention } from '../work';
import { ForgottenOrdersService } from './recovery/forgotten-orders.service';
import { KnownServer } from './recovery/known-server';
import { RecoveryService } from './recovery/recovery.service';
import { OrphansService } from './sweep/orphans.service';
import { SweepService } from './sweep/sweep.service';
import { WithdrawalsService } from './sweep/withdrawals.service';
import { TypeChangeController } from './type-change/type-change.controller';
import { TypeChangeService } from './type-change/type-change.service';

@Module({
  imports: [OrdersModule, ProviderModule, ProxiesModule],
  controllers: [TypeChangeController],
  providers: [
    ForgottenOrdersService,
    KnownServer,
    OrphansService,
    RecoveryService,
    SweepService,
    TypeChangeService,
    WithdrawalsService,
  ],
  exports: [ForgottenOrdersService, OrphansService, RecoveryService, WithdrawalsService],
})
export class InventoryModule {
  constructor(retention: Retention, orphans: OrphansService, { purchases: { replayDays } }: AppConfig) {
    retention.add('orphan_passwords', async () => ({
      removed: await orphans.forgetCredentials(replayDays),
      next: null,
    }));
  }
}
