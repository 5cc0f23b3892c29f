import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from './auth';
import { CatalogModule } from './catalog';
import { type Clock, JobsModule } from './common';
import type { AppConfig } from './config';
import { GlobalsModule } from './globals.module';
import { HealthModule } from './health';
import { IntegrityModule } from './integrity';
import { LedgerModule } from './ledger';
import { OrdersModule } from './orders';
import { ProxiesModule } from './proxies';
import { SalesJobsModule } from './sales';
import { StaffModule } from './staff';
import { StatusJobsModule } from './status';
import { UsersModule } from './users';

/** The service as a whole. */
@Module({})
export class AppModule {
  static with(config: AppConfig, clock?: Clock): DynamicModule {
    return {
      module: AppModule,
      imports: [
        GlobalsModule.with(config, clock),
        JobsModule,
        AuthModule,
        UsersModule,
        LedgerModule,
        CatalogModule,
        ProxiesModule,
        OrdersModule,
        IntegrityModule,
        SalesJobsModule,
        StatusJobsModule,
        StaffModule,
        HealthModule,
      ],
    };
  }
}
