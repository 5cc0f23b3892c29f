import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { TrialHistoryService } from './trial-history.service';

const HISTORY_INTERVAL_SECONDS = 3600;
/** How many times each replica checks in an interval whether it is due. */
const CHECKS_PER_INTERVAL = 10;

@Injectable()
export class TrialsJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly history: TrialHistoryService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('trial-history', (HISTORY_INTERVAL_SECONDS * 1000) / CHECKS_PER_INTERVAL, () =>
      this.history.forgetWhenDue(HISTORY_INTERVAL_SECONDS),
    );
  }
}
