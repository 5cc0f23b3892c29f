import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { ReplicaReports, REPORT_INTERVAL_MS } from './replica-reports';

@Injectable()
export class StatusJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly reports: ReplicaReports,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('replica-report', REPORT_INTERVAL_MS, () => this.reports.write());
  }
}
