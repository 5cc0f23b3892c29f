export { RetentionJobsModule } from './retention-jobs.module';
export { Retention, type RetentionStep, STEP_ROWS } from './retention';
export { RetentionModule } from './retention.module';
