import { Inject, Injectable } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AppConfig } from '../config';
import { PeriodicJob } from './periodic-job';
import { SweepService } from './sweep.service';

/** How often each replica asks whether a sweep is due, as a part of the interval between two. */
const ASKS_PER_INTERVAL = 10;

@Injectable()
export class SweepJob extends PeriodicJob {
  protected readonly name = 'sweep';
  protected readonly intervalMs: number;

  constructor(
    @Inject(SchedulerRegistry) scheduler: SchedulerRegistry,
    @Inject(SweepService) private readonly sweep: SweepService,
    @Inject(AppConfig) private readonly config: AppConfig,
  ) {
    super(scheduler);
    this.intervalMs = (config.sweepIntervalSeconds * 1000) / ASKS_PER_INTERVAL;
  }

  protected work(): Promise<unknown> {
    return this.sweep.sweepWhenDue(this.config.sweepIntervalSeconds);
  }
}
