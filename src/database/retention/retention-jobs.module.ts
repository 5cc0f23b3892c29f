import { Module } from '@nestjs/common';
import { RetentionJobs } from './retention.jobs';

/** The job that removes what has been kept for long enough. */
@Module({ providers: [RetentionJobs] })
export class RetentionJobsModule {}
