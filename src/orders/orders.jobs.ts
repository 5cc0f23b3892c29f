import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ReconciliationService } from './reconciliation/reconciliation.service';

const BATCHES_AT_ONCE = 20;

@Injectable()
export class OrderJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly reconciliation: ReconciliationService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('reconcile-orders', this.config.reconciliation.intervalMs, () =>
      this.reconciliation.settleDue(BATCHES_AT_ONCE),
    );
  }
}
