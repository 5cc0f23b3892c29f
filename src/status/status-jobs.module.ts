import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ReplicaReports } from './replica-reports';
import { StatusJobs } from './status.jobs';

/** The job by which each replica reports of itself. */
@Module({ imports: [ProviderModule, OrdersModule], providers: [ReplicaReports, StatusJobs] })
export class StatusJobsModule {}
