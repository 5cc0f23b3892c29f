import { setTimeout as pause } from 'node:timers/promises';
import { type DynamicModule, Module, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AuthModule, CustomerTokensModule } from './auth';
import { CatalogModule } from './catalog';
import { type Clock, Jobs, JobsModule } from './common';
import { AppConfig } from './config';
import { RetentionJobsModule } from './database';
import { EventReadingModule, EventsJobsModule, EventsModule, EventWaits } from './events';
import { GlobalsModule } from './globals.module';
import { HealthModule, Readiness } from './health';
import { LimitsJobsModule } from './http';
import { IntegrityJobsModule } from './integrity';
import { InventoryModule } from './inventory';
import { LedgerModule, SalesJobsModule } from './ledger';
import { MetricsModule } from './metrics';
import { longestOrderMs, OrdersModule, OrdersService, OrderWaits } from './orders';
import { ProviderJobsModule, ProviderModule, ProxyProvider } from './provider';
import { LinksModule, ProxiesModule, TrialsModule } from './proxies';
import { RenewalsModule } from './renewals';
import { StaffModule } from './staff';
import { StatusJobsModule } from './status';
import { TracingModule } from './tracing';
import { UsageModule } from './usage';
import { SignInModule, UsersModule } from './users';
import { DeliveryService, WebhookDeliveryModule, WebhooksModule } from './webhooks';

/** The service as a whole. */
@Module({})
export class AppModule implements OnModuleDestroy {
  constructor(
    private readonly http: HttpAdapterHost,
    private readonly readiness: Readiness,
    private readonly orders: OrdersService,
    private readonly waits: OrderWaits,
    private readonly eventWaits: EventWaits,
    private readonly provider: ProxyProvider,
    private readonly jobs: Jobs,
    private readonly webhooks: DeliveryService,
    private readonly config: AppConfig,
  ) {}

  static with(config: AppConfig, clock?: Clock): DynamicModule {
    return {
      module: AppModule,
      imports: [
        GlobalsModule.with(config, clock),
        TracingModule,
        JobsModule,
        LimitsJobsModule,
        AuthModule,
        UsersModule,
        LedgerModule,
        CatalogModule,
        ProxiesModule,
        OrdersModule,
        InventoryModule,
        UsageModule,
        LinksModule,
        WebhooksModule,
        WebhookDeliveryModule,
        RenewalsModule,
        EventsModule,
        EventReadingModule,
        EventsJobsModule,
        CustomerTokensModule,
        SignInModule,
        ProviderModule,
        ProviderJobsModule,
        IntegrityJobsModule,
        SalesJobsModule,
        RetentionJobsModule,
        StatusJobsModule,
        MetricsModule,
        TrialsModule,
        // The router tries routes in the order of their modules: those that are asked most come first.
        HealthModule,
        StaffModule,
      ],
    };
  }

  /**
   * Ends the service from the outside to the inside. This hook runs before those of all other modules: jobs
   * go on, and price rules are followed, until the last order is answered. The connections to the database
   * end after it.
   */
  async onModuleDestroy(): Promise<void> {
    this.readiness.drain();
    this.waits.endReading();
    const webhooksEnd = this.webhooks.stop();
    this.eventWaits.end();
    await this.http.httpAdapter.close();
    const waiting = new AbortController();
    const { signal } = waiting;
    const tooLong = pause(longestOrderMs(this.config), undefined, { signal }).catch(() => undefined);
    await Promise.race([this.orders.untilIdle(), tooLong]);
    waiting.abort();
    this.provider.stop();
    await this.jobs.stop();
    await webhooksEnd;
  }
}
