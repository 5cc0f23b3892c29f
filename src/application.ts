import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { serveNoOAuth } from './agents';
import { AppModule } from './app.module';
import { CUSTOMERS_SCHEME, CustomerTokensModule, STAFF_SCHEME, type StaffScope } from './auth';
import { CatalogModule } from './catalog';
import { AppLogger, type Clock, SERVICE_NAME, SERVICE_VERSION } from './common';
import type { AppConfig } from './config';
import { isDatabaseUnavailable, Notifier } from './database';
import { EventsModule } from './events';
import { HealthModule, Readiness } from './health';
import { type ApiInterface, type ClosedConnections, RequestLimits, serveDescription } from './http';
import { configureHttp } from './http/configure-http';
import { HttpAdapter } from './http/http-adapter';
import { LedgerModule } from './ledger';
import { Metrics } from './metrics';
import { longestOrderMs, OrdersModule } from './orders';
import { PaymentsModule } from './payments';
import { ProxiesModule } from './proxies';
import { ProxyRefundsModule } from './proxy-refunds';
import { RenewalsModule } from './renewals';
import { StaffModule, StaffPaymentsModule } from './staff';
import { SyncModule } from './sync';
import { UsageModule } from './usage';
import { SignInModule, UsersModule } from './users';
import { EVENT_WEBHOOKS, WebhooksModule } from './webhooks';

const CUSTOMERS: ApiInterface = {
  title: SERVICE_NAME,
  // Version of the API contract, independent of the service's version.
  version: '0.1.0',
  description:
    'Rents out proxies from a prepaid balance in roubles. Every error contains a `detail` and, except ' +
    'on the ten routes of the fixed interface 0.1.0, a `code`. Every response includes `X-Request-Id`.',
  scheme: CUSTOMERS_SCHEME,
  tags: {
    Catalog: 'Countries, stock and prices',
    Orders: 'Purchases and prolongations, paid from the balance',
    Proxies: 'The proxies of the user',
    Renewals: 'Automatic prolongations within your limits, and their forecast',
    Events: 'Events, as they happen',
    Links: 'Secret URLs for exports, for tools that cannot send a token',
    Tokens: 'Signing in, and issuing tokens for specific purposes',
    Webhooks: 'URLs to which events are sent',
    Profile: 'The user and the balance',
    Health: 'Whether the service can be reached',
  },
  modules: [
    HealthModule,
    UsersModule,
    LedgerModule,
    UsageModule,
    CatalogModule,
    ProxiesModule,
    OrdersModule,
    SyncModule,
    RenewalsModule,
    ProxyRefundsModule,
    EventsModule,
    WebhooksModule,
    SignInModule,
    CustomerTokensModule,
  ],
  webhooks: EVENT_WEBHOOKS,
};

const STAFF: ApiInterface = {
  title: `${SERVICE_NAME}: staff`,
  version: SERVICE_VERSION,
  description:
    'For internal staff. Press Authorize and enter a token with staff scopes. Each operation names the ' +
    'scope that it requires; `staff:read` allows every GET. Every action, including reads, is recorded ' +
    'in the audit log. Amounts are in roubles, written as strings. Lists are paginated: send ' +
    '`next_cursor` as `cursor` until it is null. Every error contains a `detail` and a `code`; every ' +
    'response includes `X-Request-Id`. Unknown fields and parameters are rejected.',
  scheme: STAFF_SCHEME,
  readScope: 'staff:read' satisfies StaffScope,
  tags: {
    Users: 'Customers and their accounts',
    Tokens: "Users' tokens",
    Money: 'Balances and the ledger',
    Orders: 'Orders, orders in review, and unmatched proxies',
    Renewals: 'Renewals and their outcomes; pausing and resuming renewals',
    Prices: 'The rules that set the markup',
    System: 'Service status, maintenance, and sales',
    'Access and log': 'Scopes, and a log of staff actions',
  },
  modules: [StaffModule],
};

const withDeposits = (api: ApiInterface): ApiInterface => ({
  ...api,
  tags: { ...api.tags, Deposits: 'Paying in' },
  modules: [...api.modules, PaymentsModule],
});

/** The returned application is not listening yet. */
export async function createApplication(config: AppConfig, clock?: Clock): Promise<NestExpressApplication> {
  const adapter = new HttpAdapter(longestOrderMs(config));
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config, clock), adapter, {
    bodyParser: false,
    abortOnError: false,
    logger: new AppLogger(config.log),
  });
  const onFull = (closed: ClosedConnections) => app.get(RequestLimits).countFull(closed);
  const limits = { ...config.server, readerIdleMs: config.tuning.readerIdleMs, onFull };
  const takesPayments = config.payments.provider !== 'off';
  configureHttp(app, limits, isDatabaseUnavailable, app.get(Metrics));
  const customers = takesPayments ? withDeposits(CUSTOMERS) : CUSTOMERS;
  adapter.addPages(() => serveDescription(app, customers, ''));
  const staff = takesPayments ? { ...STAFF, modules: [...STAFF.modules, StaffPaymentsModule] } : STAFF;
  adapter.addPages(() => serveDescription(app, staff, 'staff/'));
  if (config.agents.oauth === 'off') adapter.addPages(() => serveNoOAuth(app));
  return app;
}

/** Makes clients move to another replica. This replica still serves all requests until it is closed. */
export function drain(app: NestExpressApplication): void {
  app.get(Readiness).drain();
  app.get(Notifier).drain();
  const adapter = app.getHttpAdapter();
  if (adapter instanceof HttpAdapter) adapter.keepNoConnections();
}
