export { TrialHistoryService } from './trial-history.service';
export { TrialsModule } from './trials.module';
