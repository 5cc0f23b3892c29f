import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ActiveFlagsService } from './active-flags.service';

/** The flags are a copy of what `date_end` says, for lists: a minute late harms nobody. */
const INTERVAL_SECONDS = 60;
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
    const intervalSeconds = this.config.tuning.activeFlagsIntervalSeconds ?? INTERVAL_SECONDS;
    this.jobs.every('active-flags', (intervalSeconds * 1000) / CHECKS_PER_INTERVAL, () =>
      this.activeFlags.refreshWhenDue(intervalSeconds),
    );
  }
}
