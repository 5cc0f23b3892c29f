import { Module } from '@nestjs/common';
import { SalesRollupService } from './sales-rollup.service';
import { SalesJobs } from './sales.jobs';

/** The roll-up, which one replica runs for all. */
@Module({ providers: [SalesRollupService, SalesJobs] })
export class SalesJobsModule {}
