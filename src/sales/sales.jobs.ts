import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { SalesRollupService } from './sales-rollup.service';

/** How often it is looked for a day that is over. */
const ROLL_UP_SECONDS = 600;
/** How often each replica asks whether that is due. */
const ASK_MS = 60_000;

@Injectable()
export class SalesJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly rollup: SalesRollupService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('sales-days', ASK_MS, () => this.rollup.rollUpWhenDue(ROLL_UP_SECONDS));
  }
}
