import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { RequestLimits } from './request-limits.service';

/** A key that is refused by one replica can be served by another for this long. */
const SHARE_INTERVAL_MS = 1000;

@Injectable()
export class LimitsJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly limits: RequestLimits,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('request-counts', SHARE_INTERVAL_MS, () => this.limits.share());
  }
}
