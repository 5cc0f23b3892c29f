import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { ReplicaReports } from './replica-reports';
import { StatusJobs } from './status.jobs';

/** What a replica says of itself. */
@Module({ imports: [ProviderModule], providers: [ReplicaReports, StatusJobs] })
export class StatusJobsModule {}
