import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders';
import { ProviderModule } from '../provider';
import { ReplicaReports } from './replica-reports';
import { StatusJobs } from './status.jobs';

/** What a replica says of itself. */
@Module({ imports: [ProviderModule, OrdersModule], providers: [ReplicaReports, StatusJobs] })
export class StatusJobsModule {}
