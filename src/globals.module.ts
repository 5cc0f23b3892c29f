import { type DynamicModule, Module } from '@nestjs/common';
import { ApiToken, TokenSpending } from './auth';
import { Clock, SystemClock } from './common';
import { AppConfig } from './config';
import { DatabaseModule } from './database';
import { LoggedEvent } from './events';
import { RequestsUnderWay } from './http';
import { Orphan } from './inventory';
import { Account, LedgerEntry } from './ledger';
import { ExportLink } from './links';
import { Metrics } from './metrics';
import { BulkProlongation, Order, ProviderCall } from './orders';
import { DefaultMarkup, PriceRule } from './pricing';
import { Proxy, ProxyChange } from './proxies';
import { Renewal, RenewalRule, RenewalSettings } from './renewals';
import { RetentionModule } from './retention';
import { AuditLogEntry } from './staff';
import { User } from './users';
import { Webhook, WebhookAttempt, WebhookDelivery } from './webhooks';

/** Every entity: for the application, the TypeORM command line and the test that compares the schema. */
export const entities = [
  Account,
  ApiToken,
  AuditLogEntry,
  BulkProlongation,
  DefaultMarkup,
  ExportLink,
  LedgerEntry,
  LoggedEvent,
  Order,
  Orphan,
  PriceRule,
  Proxy,
  ProxyChange,
  Renewal,
  RenewalRule,
  RenewalSettings,
  TokenSpending,
  ProviderCall,
  User,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
];

/** What every module may inject. */
@Module({})
export class GlobalsModule {
  static with(config: AppConfig, clock: Clock = new SystemClock()): DynamicModule {
    return {
      module: GlobalsModule,
      global: true,
      imports: [DatabaseModule.with(entities), RetentionModule],
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useValue: clock },
        RequestsUnderWay,
        { provide: Metrics, useFactory: () => Metrics.open(config.metrics.port !== undefined) },
      ],
      exports: [AppConfig, Clock, Metrics, RequestsUnderWay],
    };
  }
}
