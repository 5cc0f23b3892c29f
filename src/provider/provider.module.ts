import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { providerHttp, proxyFor } from '../common';
import { AppConfig } from '../config';
import { queryRows } from '../database';
import { Retention, Jobs } from '../jobs';
import { Metrics } from '../metrics';
import { ProviderAccount } from './provider-account';
import { ProxyProvider } from './proxy-provider';
import { ApiKey } from './px6/api-key';
import { Px6Client } from './px6/px6-client';
import { PX6_NAME, Px6Provider } from './px6/px6.provider';
import { RatePermits } from './rate-permits';

/** Interval between checks of the key file. Polling detects every way of replacing a mounted secret. */
const READ_KEY_EVERY_MS = 2000;

@Module({
  imports: [
    HttpModule.registerAsync({
      inject: [AppConfig],
      useFactory: ({ provider, outgoing }: AppConfig) =>
        providerHttp({
          connectTimeoutMs: 5000,
          idleMs: 10_000,
          proxy: proxyFor(provider.baseUrl, outgoing),
        }),
    }),
  ],
  providers: [
    ApiKey,
    Px6Client,
    {
      provide: RatePermits,
      inject: [DataSource, AppConfig, Metrics],
      useFactory: (dataSource: DataSource, config: AppConfig, metrics: Metrics) =>
        new RatePermits(dataSource, PX6_NAME, config.provider.ratePerSecond, undefined, metrics),
    },
    {
      provide: ProviderAccount,
      inject: [DataSource, AppConfig],
      useFactory: (dataSource: DataSource, config: AppConfig) =>
        new ProviderAccount(dataSource, PX6_NAME, config.provider.lowBalance),
    },
    { provide: ProxyProvider, useClass: Px6Provider },
  ],
  exports: [ProxyProvider],
})
export class ProviderModule {
  constructor(
    jobs: Jobs,
    retention: Retention,
    dataSource: DataSource,
    provider: ProxyProvider,
    config: AppConfig,
  ) {
    // Removes the rows of replicas that were killed while their calls waited for a permit.
    retention.add('demands', async () => {
      const gone = await queryRows(
        dataSource,
        `DELETE FROM permit_demand WHERE expires_at < now() - interval '1 hour' RETURNING 1`,
      );
      return { removed: gone.length, next: null };
    });
    if (config.provider.apiKeyFile === undefined) return;
    jobs.every('provider-key', READ_KEY_EVERY_MS, () => provider.followKey());
  }
}
