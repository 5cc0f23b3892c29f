import { type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { LedgerModule } from '../ledger';
import { OrdersModule } from '../orders';
import { ProxiesModule } from '../proxies';
import { SyncModule } from '../sync';
import { OwnProxies } from './own-proxies';
import { Px6Controller } from './px6.controller';
import { CallGuard, receiveCall } from './wire-access';

/** Serves PROXY6's own interface to clients that were written for it, only with `PX6_COMPATIBLE=on`. */
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
