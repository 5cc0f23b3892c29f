import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module';
import { AppLogger, type Clock, configureHttp, HttpAdapter } from './common';
import type { AppConfig } from './config';
import { isDatabaseUnavailable } from './database';
import { serveDescriptions } from './openapi';

/** The application, configured and not yet listening. Also what the tests run. */
export async function createApplication(config: AppConfig, clock?: Clock): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.with(config, clock),
    new HttpAdapter(),
    {
      bodyParser: false,
      abortOnError: false,
      logger: new AppLogger({ level: config.logLevel, format: config.logFormat }),
    },
  );
  // Whose X-Forwarded-For says who asks. Nobody's, unless the environment says so.
  app.set('trust proxy', config.trustedProxies);
  configureHttp(app, isDatabaseUnavailable);
  serveDescriptions(app);
  return app;
}
