import { Inject, Injectable } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AppConfig } from '../config';
import { PeriodicJob } from './periodic-job';
import { ReconciliationService } from './reconciliation.service';

const BATCH_SIZE = 20;

@Injectable()
export class ReconcileOrdersJob extends PeriodicJob {
  protected readonly name = 'reconcile-orders';
  protected readonly intervalMs: number;

  constructor(
    @Inject(SchedulerRegistry) scheduler: SchedulerRegistry,
    @Inject(ReconciliationService) private readonly reconciliation: ReconciliationService,
    @Inject(AppConfig) config: AppConfig,
  ) {
    super(scheduler);
    this.intervalMs = config.reconcileIntervalMs;
  }

  protected work(): Promise<unknown> {
    return this.reconciliation.settleDue(BATCH_SIZE);
  }
}
