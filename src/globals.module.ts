import { type DynamicModule, Module } from '@nestjs/common';
import { Clock, SystemClock } from './common';
import { AppConfig } from './config';
import { DatabaseModule, Notifier } from './database';
import { LargeBodies, RequestLimits, RequestsUnderWay } from './http';
import { Retention, RetryClockCorrection, Jobs } from './jobs';
import { Metrics } from './metrics';

/** Provides the classes that any module may inject. */
@Module({})
export class GlobalsModule {
  static with(config: AppConfig, clock: Clock = new SystemClock()): DynamicModule {
    return {
      module: GlobalsModule,
      global: true,
      imports: [DatabaseModule],
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useValue: clock },
        Notifier,
        LargeBodies,
        RequestLimits,
        RequestsUnderWay,
        Retention,
        RetryClockCorrection,
        Jobs,
        { provide: Metrics, useFactory: () => Metrics.open(config.metrics.port !== undefined) },
      ],
      exports: [
        AppConfig,
        Clock,
        Metrics,
        Notifier,
        LargeBodies,
        RequestLimits,
        RequestsUnderWay,
        Retention,
        RetryClockCorrection,
        Jobs,
      ],
    };
  }
}
