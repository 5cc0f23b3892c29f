import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { RenewalRun } from './renewal-run.service';

/** How often each replica asks whether something is due. */
const RUN_EVERY_MS = 5000;

@Injectable()
export class RenewalJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly run: RenewalRun,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('renewals', RUN_EVERY_MS, (signal) => this.run.runWhenDue(RUN_EVERY_MS, signal));
  }
}
