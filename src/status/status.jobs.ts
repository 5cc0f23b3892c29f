import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Jobs } from '../common';
import { findExcessiveRights } from '../database';
import { ReplicaReports, REPORT_INTERVAL_MS } from './replica-reports';

@Injectable()
export class StatusJobs implements OnApplicationBootstrap {
  private readonly logger = new Logger(StatusJobs.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly jobs: Jobs,
    private readonly reports: ReplicaReports,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.jobs.every('replica-report', REPORT_INTERVAL_MS, () => this.reports.write());
    const rights = await findExcessiveRights(this.dataSource);
    if (rights.length === 0) return;
    this.logger.warn(
      `The database's role of the service may do more than it needs: it ${rights.join(', ')}. ` +
        'docs/operations.md (Two roles) tells how to run it as another.',
    );
  }
}
