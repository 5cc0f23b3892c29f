import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ReplicaReports } from './replica-reports';
import { StatusJobs } from './status.jobs';
import { StatusMetrics } from './status.metrics';

/** The job by which each replica reports of itself. */
@Module({ imports: [ProviderModule, OrdersModule], providers: [ReplicaReports, StatusJobs, StatusMetrics] })
export class StatusJobsModule {}
