export { StatusJobsModule } from './status-jobs.module';
export { StatusModule } from './status.module';
export { type Status, StatusService } from './status.service';
