export type { Claimed, DueRows, BacklogSql } from './due-work';
export { LeasedRun, type LeasedJob } from './leased-run';
export { RetryClockCorrection, type RetryTimes } from './retry-clock-correction';
export { Retention, type RetentionStep, STEP_ROWS } from './retention';
export { PAUSE_AFTER_FAILURE_MS, Jobs } from './jobs';
