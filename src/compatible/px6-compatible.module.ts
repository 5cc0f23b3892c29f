import { type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { OrdersModule } from '../orders';
import { ProxiesModule } from '../proxies';
import { SyncModule } from '../sync';
import { CallGuard, receiveCall } from './call-guard';
import { OwnProxies } from './own-proxies';
import { Px6Controller } from './px6.controller';

/** Imported only with `PX6_COMPATIBLE=on`. */
@Module({
  imports: [CatalogModule, LedgerModule, OrdersModule, ProxiesModule, SyncModule],
  controllers: [Px6Controller],
  providers: [OwnProxies, CallGuard],
})
export class Px6CompatibleModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(receiveCall).forRoutes({ path: 'api/*path', method: RequestMethod.ALL });
  }
}
