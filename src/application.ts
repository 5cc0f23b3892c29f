import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module';
import { CUSTOMERS_SCHEME, STAFF_SCHEME } from './auth';
import { CatalogModule } from './catalog';
import { AppLogger, type Clock } from './common';
import type { AppConfig } from './config';
import { isDatabaseUnavailable } from './database';
import { HealthModule } from './health';
import { type ApiInterface, configureHttp, HttpAdapter, serveDescription } from './http';
import { OrdersModule } from './orders';
import { ProxiesModule } from './proxies';
import { StaffModule } from './staff';
import { UsersModule } from './users';

const CUSTOMERS: ApiInterface = {
  title: 'Proxy Rental Service',
  description:
    'Rents out proxies from a prepaid balance in roubles. Every error has a `detail`; every answer carries `X-Request-Id`.',
  scheme: CUSTOMERS_SCHEME,
  modules: [HealthModule, UsersModule, CatalogModule, ProxiesModule, OrdersModule],
};

const STAFF: ApiInterface = {
  title: 'Proxy Rental Service: staff',
  description:
    'What internal staff do. Press Authorize with a token that has staff scopes; each operation names the one it needs. Everything done here, ' +
    'reading included, is kept in the log of actions. Amounts are roubles, written as text. Lists are paged: give `next_cursor` as `cursor` ' +
    'until it is null. Every error has a `detail`; every answer carries `X-Request-Id`.',
  scheme: STAFF_SCHEME,
  modules: [StaffModule],
};

/** The application, configured and not yet listening. Also what the tests run. */
export async function createApplication(config: AppConfig, clock?: Clock): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, clock),
    new HttpAdapter(),
    {
      bodyParser: false,
      abortOnError: false,
      logger: new AppLogger(config.log),
    },
  );
  // Whose X-Forwarded-For says who asks. Nobody's, unless the environment says so.
  app.set('trust proxy', config.server.trustedProxies);
  configureHttp(app, isDatabaseUnavailable);
  serveDescription(app, CUSTOMERS, '');
  serveDescription(app, STAFF, 'staff/');
  return app;
}
