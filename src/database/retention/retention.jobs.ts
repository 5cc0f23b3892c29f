import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { Retention } from './retention';

const INTERVAL_SECONDS = 3600;
/** How often each replica checks whether that is due. */
const CHECK_MS = 60_000;

@Injectable()
export class RetentionJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly retention: Retention,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('retention', CHECK_MS, (signal) => this.retention.runWhenDue(INTERVAL_SECONDS, signal));
  }
}
