import { Module } from '@nestjs/common';
import { AuditRuns } from './audit-runs.service';
import { IntegrityJobs } from './integrity.jobs';
import { IntegrityModule } from './integrity.module';

/** The job by which replicas audit the books. */
@Module({ imports: [IntegrityModule], providers: [AuditRuns, IntegrityJobs] })
export class IntegrityJobsModule {}
