import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ReconciliationService } from './reconciliation.service';
import { SweepService } from './sweep.service';

const RECONCILED_AT_ONCE = 20;
/** How often each replica asks whether a sweep is due, as a part of the interval between two. */
const SWEEP_ASKS_PER_INTERVAL = 10;

@Injectable()
export class OrderJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly reconciliation: ReconciliationService,
    private readonly sweep: SweepService,
  ) {}

  onApplicationBootstrap(): void {
    const { reconciliation, sweep } = this.config;
    this.jobs.every('reconcile-orders', reconciliation.intervalMs, () =>
      this.reconciliation.settleDue(RECONCILED_AT_ONCE),
    );
    this.jobs.every('sweep', (sweep.intervalSeconds * 1000) / SWEEP_ASKS_PER_INTERVAL, () =>
      this.sweep.sweepWhenDue(sweep.intervalSeconds),
    );
  }
}
