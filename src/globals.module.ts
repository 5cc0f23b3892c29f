import { type DynamicModule, Module } from '@nestjs/common';
import { Clock, SystemClock } from './common';
import { AppConfig } from './config';

/** What every module may ask for. */
@Module({})
export class GlobalsModule {
  static with(config: AppConfig, clock: Clock = new SystemClock()): DynamicModule {
    return {
      module: GlobalsModule,
      global: true,
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useValue: clock },
      ],
      exports: [AppConfig, Clock],
    };
  }
}
