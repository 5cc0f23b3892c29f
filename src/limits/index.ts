export { LimitsJobsModule } from './limits-jobs.module';
export { TooManyRequests } from './limits.errors';
export { LimitsModule } from './limits.module';
export { RequestLimits } from './request-limits.service';
