import { type DynamicModule, Module } from '@nestjs/common';
import { ApiToken } from './auth';
import { Clock, SystemClock } from './common';
import { AppConfig } from './config';
import { DatabaseModule } from './database';
import { RequestsUnderWay } from './http';
import { Metrics } from './metrics';
import { User } from './users';
import { Retention, Work } from './work';

/** The entities of repositories, for the application and for the test that compares them with the schema. */
export const entities = [ApiToken, User];

/** Providers that every module may inject. */
@Module({})
export class GlobalsModule {
  static with(config: AppConfig, clock: Clock = new SystemClock()): DynamicModule {
    return {
      module: GlobalsModule,
      global: true,
      imports: [DatabaseModule.with(entities)],
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useValue: clock },
        RequestsUnderWay,
        Retention,
        Work,
        { provide: Metrics, useFactory: () => Metrics.open(config.metrics.port !== undefined) },
      ],
      exports: [AppConfig, Clock, Metrics, RequestsUnderWay, Retention, Work],
    };
  }
}
