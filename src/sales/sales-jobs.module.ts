import { Module } from '@nestjs/common';
import { SalesJobs } from './sales.jobs';
import { SalesRollupService } from './sales-rollup.service';

/** What a replica does for all. */
@Module({ providers: [SalesRollupService, SalesJobs] })
export class SalesJobsModule {}
