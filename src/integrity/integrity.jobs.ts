import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AuditRuns } from './audit-runs.service';

/** How often each replica checks whether an audit is due. */
const CHECK_MS = 60_000;

@Injectable()
export class IntegrityJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly runs: AuditRuns,
  ) {}

  onApplicationBootstrap(): void {
    for (const scope of ['day', 'all'] as const) {
      this.jobs.every(`audit-${scope}`, CHECK_MS, (signal) => this.runs.runWhenDue(scope, signal));
    }
  }
}
