import { type DynamicModule, Module, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AgentsModule } from './agents';
import { AuthModule, CustomerTokensModule } from './auth';
import { CatalogModule } from './catalog';
import { type Clock, isOverWithin } from './common';
import { Px6CompatibleModule } from './compatible';
import { AppConfig } from './config';
import { Notifier } from './database';
import { EventsModule } from './events';
import { GlobalsModule } from './globals.module';
import { HealthModule, Readiness } from './health';
import { IntegrityModule } from './integrity';
import { Jobs } from './jobs';
import { LedgerModule } from './ledger';
import { MetricsServer } from './metrics';
import { OAuthModule } from './oauth';
import { longestOrderMs, OrdersModule, OrdersService } from './orders';
import { PaymentsModule } from './payments';
import { ProviderModule, ProxyProvider } from './provider';
import { ProxiesModule } from './proxies';
import { ProxyRefundsModule } from './proxy-refunds';
import { RenewalsModule } from './renewals';
import { StaffModule, StaffPaymentsModule } from './staff';
import { StatusModule } from './status';
import { SyncModule } from './sync';
import { TracingModule } from './tracing';
import { UsageModule } from './usage';
import { SignInModule, UsersModule } from './users';
import { WebhooksModule } from './webhooks';

@Module({ providers: [MetricsServer] })
export class AppModule implements OnModuleDestroy {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly readiness: Readiness,
    private readonly orders: OrdersService,
    private readonly notifier: Notifier,
    private readonly upstream: ProxyProvider,
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
  ) {}

  static with(config: AppConfig, clock?: Clock): DynamicModule {
    return {
      module: AppModule,
      imports: [
        GlobalsModule.with(config, clock),
        TracingModule,
        AuthModule,
        UsersModule,
        LedgerModule,
        CatalogModule,
        ProxiesModule,
        OrdersModule,
        SyncModule,
        UsageModule,
        WebhooksModule,
        RenewalsModule,
        ProxyRefundsModule,
        EventsModule,
        CustomerTokensModule,
        SignInModule,
        ProviderModule,
        IntegrityModule,
        StatusModule,
        // The router tries routes in module order, so the modules with the most requests come first.
        HealthModule,
        AgentsModule.with(config),
        StaffModule,
        ...(config.agents.oauth === 'on' ? [OAuthModule] : []),
        ...(config.compatible.px6 === 'on' ? [Px6CompatibleModule] : []),
        ...(config.payments.provider === 'off' ? [] : [PaymentsModule, StaffPaymentsModule]),
      ],
    };
  }

  /** Stops jobs last: some, such as polling price rules, must run until the last order has its response. */
  async onModuleDestroy(): Promise<void> {
    this.readiness.drain();
    this.notifier.end();
    await this.http.httpAdapter.close();
    await isOverWithin(longestOrderMs(this.config), this.orders.untilIdle());
    this.upstream.stop();
    await this.jobs.stop();
  }
}
