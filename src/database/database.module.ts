import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppConfig } from '../config';
import { dataSourceOptions } from './data-source-options';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [AppConfig],
      useFactory: (config: AppConfig) => ({
        ...dataSourceOptions({
          url: config.database.url,
          poolSize: config.database.poolSize,
          poolWaitMs: config.tuning.poolWaitMs,
          applicationName: 'proxy-rental-service',
        }),
        retryAttempts: 3,
        retryDelay: 500,
      }),
    }),
  ],
})
export class DatabaseModule {}
