import { Module } from '@nestjs/common';
import { AppConfig } from '../config';
import { Retention } from '../jobs';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { ForgottenOrdersService } from './maintenance/forgotten-orders.service';
import { MaintenanceService } from './maintenance/maintenance.service';
import { ServerChange } from './maintenance/server-change';
import { MissingProxiesService } from './sweep/missing-proxies.service';
import { SweepService } from './sweep/sweep.service';
import { UnmatchedProxiesService } from './sweep/unmatched-proxies.service';
import { TypeChangeController } from './type-change/type-change.controller';
import { TypeChangeService } from './type-change/type-change.service';

@Module({
  imports: [OrdersModule, ProviderModule, ProxiesModule],
  controllers: [TypeChangeController],
  providers: [
    ForgottenOrdersService,
    MaintenanceService,
    UnmatchedProxiesService,
    ServerChange,
    SweepService,
    TypeChangeService,
    MissingProxiesService,
  ],
  exports: [
    ForgottenOrdersService,
    MaintenanceService,
    TypeChangeService,
    UnmatchedProxiesService,
    MissingProxiesService,
  ],
})
export class SyncModule {
  constructor(
    retention: Retention,
    unmatched: UnmatchedProxiesService,
    { purchases: { replayDays } }: AppConfig,
  ) {
    retention.add('unmatched_proxy_passwords', async () => ({
      removed: await unmatched.forgetCredentials(replayDays),
      next: null,
    }));
  }
}
