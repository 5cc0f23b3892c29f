import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { DispatcherService } from './dispatch/dispatcher.service';
import { ReconciliationService } from './reconciliation/reconciliation.service';

/** How soon orders are found that another replica has left in the queue, or did not get to. */
const LOOK_EVERY_MS = 1000;
/** An order whose answer was lost is checked first after a second: it is not found later than that. */
const RECONCILE_INTERVAL_MS = 1000;
const BATCHES_AT_ONCE = 20;

@Injectable()
export class OrderJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly dispatcher: DispatcherService,
    private readonly reconciliation: ReconciliationService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('dispatch-orders', LOOK_EVERY_MS, () => this.dispatcher.look());
    const intervalMs = this.config.tuning.reconcileIntervalMs ?? RECONCILE_INTERVAL_MS;
    this.jobs.every('reconcile-orders', intervalMs, () => this.reconciliation.settleDue(BATCHES_AT_ONCE));
  }
}
