import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from './auth';
import { CatalogModule } from './catalog';
import type { AppConfig } from './config';
import { GlobalsModule } from './globals.module';
import { IntegrityModule } from './integrity';
import { LedgerModule } from './ledger';
import { PricingModule } from './pricing';
import { StaffModule, StaffPaymentsModule } from './staff';
import { StatusModule } from './status';
import { UsersModule } from './users';

/** Modules that the command-line tool needs. Background jobs are not started. */
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
        CatalogModule,
        StaffModule,
        ...(config.payments.provider === 'off' ? [] : [StaffPaymentsModule]),
      ],
    };
  }
}
