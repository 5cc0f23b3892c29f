export { SKIP_REASONS, type SkipReason } from './decide';
export { BALANCE_DAYS, firstUnpaidDay } from './forecast';
export { pauseAllRenewals, pauseRenewalsOf } from './pauses';
export { RENEWAL_STATES, type RenewalState } from './renewal-states';
export { RenewalOut } from './renewal.dto';
export { RenewalsModule } from './renewals.module';
export { RenewalRuleOut } from './rules.dto';
export { RenewalRun } from './running/renewal-run.service';
export { RENEWAL_WAITS, WAITING_RENEWALS } from './waiting';
