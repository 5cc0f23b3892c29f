import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ReconciliationService } from './reconciliation/reconciliation.service';
import { SweepService } from './sweep/sweep.service';

const BATCHES_AT_ONCE = 20;
/** Each replica asks this many times per interval whether a sweep is due, and at least each minute. */
const SWEEP_ASKS_PER_INTERVAL = 10;
const LONGEST_SWEEP_ASK_MS = 60_000;

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
      this.reconciliation.settleDue(BATCHES_AT_ONCE),
    );
    const sweepAskMs = (sweep.intervalSeconds * 1000) / SWEEP_ASKS_PER_INTERVAL;
    this.jobs.every('sweep', Math.min(sweepAskMs, LONGEST_SWEEP_ASK_MS), () =>
      this.sweep.sweepWhenDue(sweep.intervalSeconds),
    );
  }
}
