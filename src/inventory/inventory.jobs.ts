import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { SweepService } from './sweep/sweep.service';

/** Each replica checks this many times per interval whether a sweep is due, and at least each minute. */
const CHECKS_PER_INTERVAL = 10;
const LONGEST_CHECK_MS = 60_000;

@Injectable()
export class InventoryJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly sweep: SweepService,
  ) {}

  onApplicationBootstrap(): void {
    const { intervalSeconds } = this.config.sweep;
    const checkMs = Math.min((intervalSeconds * 1000) / CHECKS_PER_INTERVAL, LONGEST_CHECK_MS);
    this.jobs.every('sweep', checkMs, () => this.sweep.sweepWhenDue(intervalSeconds));
  }
}
