export { SKIP_REASONS, type SkipReason } from './decide';
export { BALANCE_DAYS, firstUnpaidDay } from './forecast';
export { pauseAllRenewals, pauseRenewalsOf } from './pauses';
export { RENEWAL_STATES, type RenewalState } from './renewal-states';
export { RenewalsModule } from './renewals.module';
export { RenewalRun } from './running/renewal-run.service';
export { OUR_REASONS, RENEWAL_WAITS } from './waiting';
