export { Renewal, RENEWAL_STATES, type RenewalState } from './renewal.entity';
export { RenewalRule } from './renewal-rule.entity';
export { RenewalSettings } from './renewal-settings.entity';
export { RenewalsModule } from './renewals.module';
export { RenewalRun } from './running/renewal-run.service';
