import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { SalesRollupService } from './sales-rollup.service';

/** How often the days that are over are rolled up. */
const ROLL_UP_SECONDS = 600;
/** How often each replica checks whether that is due. */
const CHECK_MS = 60_000;

@Injectable()
export class SalesJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly rollup: SalesRollupService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('sales-days', CHECK_MS, () => this.rollup.rollUpWhenDue(ROLL_UP_SECONDS));
  }
}
