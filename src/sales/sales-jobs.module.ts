import { Module } from '@nestjs/common';
import { SalesRollupService } from './sales-rollup.service';
import { SalesJobs } from './sales.jobs';

/** What a replica does for all. */
@Module({ providers: [SalesRollupService, SalesJobs] })
export class SalesJobsModule {}
