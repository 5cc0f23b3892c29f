import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppConfig } from '../config';
import { dataSourceOptions } from './data-source-options';

/** Opens the connection pool for all entities. Each module imports its own repositories. */
@Module({})
export class DatabaseModule {
  static with(entities: readonly (new () => object)[]): DynamicModule {
    return {
      module: DatabaseModule,
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
            entities: [...entities],
            retryAttempts: 3,
            retryDelay: 500,
          }),
        }),
      ],
    };
  }
}
