import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { REPORT_INTERVAL_MS, ReplicaReports } from './replica-reports';

@Injectable()
export class StatusJobs implements OnApplicationBootstrap {
  constructor(
    @Inject(Jobs) private readonly jobs: Jobs,
    @Inject(ReplicaReports) private readonly reports: ReplicaReports,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('replica-report', REPORT_INTERVAL_MS, () => this.reports.write());
  }
}
