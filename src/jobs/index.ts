export type { Claimed, DueRows, BacklogSql } from './due-work';
export { LeasedRun, type LeasedJob } from './leased-run';
export { Retries, type RetryTimes } from './retries';
export { Retention, type RetentionStep, STEP_ROWS } from './retention';
export { PAUSE_AFTER_FAILURE_MS, Jobs } from './jobs';
