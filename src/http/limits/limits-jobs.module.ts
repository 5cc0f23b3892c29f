import { Module } from '@nestjs/common';
import { LimitsJobs } from './limits.jobs';
import { LimitsModule } from './limits.module';

/** The job by which replicas tell each other what they have counted. */
@Module({ imports: [LimitsModule], providers: [LimitsJobs] })
export class LimitsJobsModule {}
