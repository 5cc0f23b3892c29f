export type { Claimed, DueRows, DueWork, WaitingSql } from './due-work';
export { LeasedRun, type Run } from './leased-run';
export { Retention, type RetentionStep, STEP_ROWS } from './retention';
export { StepLoop } from './step-loop';
export { type Job, PAUSE_AFTER_FAILURE_MS, Work } from './work';
