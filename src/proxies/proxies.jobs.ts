import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ActiveFlagsService } from './active-flags.service';

/** How many times each replica checks in an interval whether a refresh is due. */
const CHECKS_PER_INTERVAL = 10;

@Injectable()
export class ProxyJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly activeFlags: ActiveFlagsService,
  ) {}

  onApplicationBootstrap(): void {
    const { activeFlagsIntervalSeconds } = this.config.proxies;
    this.jobs.every('active-flags', (activeFlagsIntervalSeconds * 1000) / CHECKS_PER_INTERVAL, () =>
      this.activeFlags.refreshWhenDue(activeFlagsIntervalSeconds),
    );
  }
}
