import { Logger, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { findExcessiveRights } from '../database';
import { Jobs } from '../jobs';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { SyncModule } from '../sync';
import { ReplicaReports, REPORT_INTERVAL_MS } from './replica-reports';
import { StatusMetrics } from './status.metrics';
import { StatusService } from './status.service';

@Module({
  imports: [ProviderModule, OrdersModule, SyncModule],
  providers: [StatusService, ReplicaReports, StatusMetrics],
  exports: [StatusService],
})
export class StatusModule {
  private readonly logger = new Logger(StatusModule.name);

  constructor(
    private readonly dataSource: DataSource,
    jobs: Jobs,
    reports: ReplicaReports,
  ) {
    jobs.first(() => this.warnOfExcessiveRights());
    jobs.every('replica-report', REPORT_INTERVAL_MS, () => reports.write());
  }

  private async warnOfExcessiveRights(): Promise<void> {
    const rights = await findExcessiveRights(this.dataSource);
    if (rights.length === 0) return;
    this.logger.warn(
      `The service's database role may do more than it needs: it ${rights.join(', ')}. ` +
        'docs/operations.md (Two roles) describes how to use another.',
    );
  }
}
