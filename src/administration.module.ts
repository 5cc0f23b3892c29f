import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from './auth';
import { PricePreviewModule } from './catalog';
import type { AppConfig } from './config';
import { GlobalsModule } from './globals.module';
import { IntegrityModule } from './integrity';
import { LedgerModule, SalesModule } from './ledger';
import { PricingModule } from './pricing';
import { StaffModule } from './staff';
import { StatusModule } from './status';
import { UsersModule } from './users';

/** Users, tokens and balances without the HTTP server and its jobs: what the command line needs. */
@Module({})
export class AdministrationModule {
  static with(config: AppConfig): DynamicModule {
    return {
      module: AdministrationModule,
      imports: [
        GlobalsModule.with(config),
        AuthModule,
        UsersModule,
        LedgerModule,
        IntegrityModule,
        StatusModule,
        PricingModule,
        PricePreviewModule,
        SalesModule,
        StaffModule,
      ],
    };
  }
}
